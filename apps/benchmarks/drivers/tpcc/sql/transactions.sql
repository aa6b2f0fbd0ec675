-- The five transactions. What writes is a procedure, since pgpool sends CALL to the primary however it is configured;
-- what reads is a stable function, which it may send to a standby.

-- Of those with one last name the middle one by first name. NULL where nobody has it.
CREATE FUNCTION lifeguard_tpcc.customer_named(of_warehouse int, of_district int, of_name int)
RETURNS int LANGUAGE sql STABLE AS $$
    SELECT (array_agg(c_id ORDER BY c_first))[(count(*) + 1) / 2] FROM lifeguard_tpcc.customer
    WHERE c_w_id = of_warehouse AND c_d_id = of_district AND c_last = lifeguard_tpcc.last_name(of_name)
$$;

-- total: what the customer pays; NULL where is_wrong (1) put an item into the last line that nobody sells, and nothing
-- was ordered. Lines are taken in the order of their stock, so that no two orders wait for each other.
CREATE PROCEDURE lifeguard_tpcc.new_order(
    of_warehouse int, of_district int, of_customer int, line_count int, is_wrong int, items int[], suppliers int[],
    quantities int[], INOUT total numeric DEFAULT NULL
) LANGUAGE plpgsql AS $$
DECLARE
    line record;
    sold record;
    stocked record;
    customer record;
    warehouse_tax numeric;
    district_tax numeric;
    order_id int;
    is_known boolean = true;
BEGIN
    IF is_wrong = 1 THEN
        items[line_count] = 0;
    END IF;
    SELECT w_tax INTO warehouse_tax FROM lifeguard_tpcc.warehouse WHERE w_id = of_warehouse;
    SELECT c_discount, c_last, c_credit INTO customer FROM lifeguard_tpcc.customer
    WHERE c_w_id = of_warehouse AND c_d_id = of_district AND c_id = of_customer;
    UPDATE lifeguard_tpcc.district SET d_next_o_id = d_next_o_id + 1
    WHERE d_w_id = of_warehouse AND d_id = of_district
    RETURNING d_tax, d_next_o_id - 1 INTO district_tax, order_id;
    INSERT INTO lifeguard_tpcc.orders VALUES (
        order_id, of_district, of_warehouse, of_customer, now(), NULL, line_count,
        CASE WHEN of_warehouse = ALL (suppliers[1 : line_count]) THEN 1 ELSE 0 END
    );
    INSERT INTO lifeguard_tpcc.new_order VALUES (order_id, of_district, of_warehouse);
    total = 0;
    FOR line IN
        SELECT number, item, supplier, quantity
        FROM unnest(items, suppliers, quantities) WITH ORDINALITY AS lines (item, supplier, quantity, number)
        WHERE number <= line_count ORDER BY item = 0, supplier, item
    LOOP
        SELECT i_price, i_name, i_data INTO sold FROM lifeguard_tpcc.item WHERE i_id = line.item;
        is_known = FOUND;
        EXIT WHEN NOT is_known;
        UPDATE lifeguard_tpcc.stock SET
            s_quantity = s_quantity - line.quantity + CASE WHEN s_quantity >= line.quantity + 10 THEN 0 ELSE 91 END,
            s_ytd = s_ytd + line.quantity,
            s_order_cnt = s_order_cnt + 1,
            s_remote_cnt = s_remote_cnt + CASE WHEN line.supplier = of_warehouse THEN 0 ELSE 1 END
        WHERE s_w_id = line.supplier AND s_i_id = line.item
        RETURNING s_data, CASE of_district
            WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04
            WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08
            WHEN 9 THEN s_dist_09 ELSE s_dist_10 END AS s_dist INTO stocked;
        INSERT INTO lifeguard_tpcc.order_line VALUES (
            order_id, of_district, of_warehouse, line.number, line.item, line.supplier, NULL, line.quantity,
            line.quantity * sold.i_price, stocked.s_dist
        );
        total = total + line.quantity * sold.i_price;
    END LOOP;
    IF is_known THEN
        total = round(total * (1 - customer.c_discount) * (1 + warehouse_tax + district_tax), 2);
    ELSE
        ROLLBACK;
        total = NULL;
    END IF;
END $$;

-- of_name: -1 where the customer is told by its number. balance: of the customer afterwards.
CREATE PROCEDURE lifeguard_tpcc.payment(
    of_warehouse int, of_district int, customer_warehouse int, customer_district int, of_customer int, of_name int,
    cents int, INOUT balance numeric DEFAULT NULL
) LANGUAGE plpgsql AS $$
DECLARE
    amount numeric = cents / 100.0;
    paid_at record;
    paid_in record;
BEGIN
    UPDATE lifeguard_tpcc.warehouse SET w_ytd = w_ytd + amount WHERE w_id = of_warehouse
    RETURNING w_name, w_street_1, w_street_2, w_city, w_state, w_zip INTO paid_at;
    UPDATE lifeguard_tpcc.district SET d_ytd = d_ytd + amount WHERE d_w_id = of_warehouse AND d_id = of_district
    RETURNING d_name, d_street_1, d_street_2, d_city, d_state, d_zip INTO paid_in;
    IF of_name >= 0 THEN
        of_customer = lifeguard_tpcc.customer_named(customer_warehouse, customer_district, of_name);
    END IF;
    UPDATE lifeguard_tpcc.customer SET
        c_balance = c_balance - amount,
        c_ytd_payment = c_ytd_payment + amount,
        c_payment_cnt = c_payment_cnt + 1,
        c_data = CASE c_credit WHEN 'BC'
            THEN left(concat_ws(' ', c_id, c_d_id, c_w_id, of_district, of_warehouse, amount, c_data), 500)
            ELSE c_data END
    WHERE c_w_id = customer_warehouse AND c_d_id = customer_district AND c_id = of_customer
    RETURNING c_balance INTO balance;
    INSERT INTO lifeguard_tpcc.history VALUES (
        of_customer, customer_district, customer_warehouse, of_district, of_warehouse, now(), amount,
        paid_at.w_name || '    ' || paid_in.d_name
    );
END $$;

-- Of every district the order that waits longest. delivered: how many there were.
CREATE PROCEDURE lifeguard_tpcc.delivery(of_warehouse int, of_carrier int, INOUT delivered int DEFAULT NULL)
LANGUAGE plpgsql AS $$
DECLARE
    oldest int;
    of_customer int;
    amount numeric;
BEGIN
    delivered = 0;
    FOR of_district IN 1..10 LOOP
        -- Whoever delivers the same one is waited for, and the next one taken: one that is left out would be a gap.
        LOOP
            SELECT no_o_id INTO oldest FROM lifeguard_tpcc.new_order
            WHERE no_w_id = of_warehouse AND no_d_id = of_district ORDER BY no_o_id LIMIT 1;
            EXIT WHEN NOT FOUND;
            DELETE FROM lifeguard_tpcc.new_order
            WHERE no_w_id = of_warehouse AND no_d_id = of_district AND no_o_id = oldest;
            EXIT WHEN FOUND;
        END LOOP;
        CONTINUE WHEN NOT FOUND;
        UPDATE lifeguard_tpcc.orders SET o_carrier_id = of_carrier
        WHERE o_w_id = of_warehouse AND o_d_id = of_district AND o_id = oldest
        RETURNING o_c_id INTO of_customer;
        WITH lines AS (
            UPDATE lifeguard_tpcc.order_line SET ol_delivery_d = now()
            WHERE ol_w_id = of_warehouse AND ol_d_id = of_district AND ol_o_id = oldest
            RETURNING ol_amount
        )
        SELECT sum(ol_amount) INTO amount FROM lines;
        UPDATE lifeguard_tpcc.customer SET c_balance = c_balance + amount, c_delivery_cnt = c_delivery_cnt + 1
        WHERE c_w_id = of_warehouse AND c_d_id = of_district AND c_id = of_customer;
        delivered = delivered + 1;
    END LOOP;
END $$;

-- Lines of the customer's latest order.
CREATE FUNCTION lifeguard_tpcc.order_status(of_warehouse int, of_district int, of_customer int, of_name int)
RETURNS TABLE (
    customer text, balance numeric, order_id int, entered_at timestamptz, carrier int, item int, supplier int,
    quantity int, amount numeric, delivered_at timestamptz
) LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF of_name >= 0 THEN
        of_customer = lifeguard_tpcc.customer_named(of_warehouse, of_district, of_name);
    END IF;
    RETURN QUERY
    SELECT c_first || ' ' || c_middle || ' ' || c_last, c_balance, o_id, o_entry_d, o_carrier_id, ol_i_id,
        ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d
    FROM lifeguard_tpcc.customer, LATERAL (
        SELECT o_id, o_entry_d, o_carrier_id FROM lifeguard_tpcc.orders
        WHERE o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id ORDER BY o_id DESC LIMIT 1
    ) AS latest, lifeguard_tpcc.order_line
    WHERE c_w_id = of_warehouse AND c_d_id = of_district AND c_id = of_customer
        AND ol_w_id = c_w_id AND ol_d_id = c_d_id AND ol_o_id = o_id;
END $$;

-- How many of the items of the latest 20 orders of a district are short.
CREATE FUNCTION lifeguard_tpcc.stock_level(of_warehouse int, of_district int, threshold int)
RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT count(DISTINCT s_i_id)
    FROM lifeguard_tpcc.district, lifeguard_tpcc.order_line, lifeguard_tpcc.stock
    WHERE d_w_id = of_warehouse AND d_id = of_district
        AND ol_w_id = d_w_id AND ol_d_id = d_id AND ol_o_id >= d_next_o_id - 20 AND ol_o_id < d_next_o_id
        AND s_w_id = d_w_id AND s_i_id = ol_i_id AND s_quantity < threshold
$$;
