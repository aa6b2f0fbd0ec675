-- Rows from generate_series, each warehouse with a seed of its own: the same data, whoever makes it in which order.
CREATE FUNCTION lifeguard_tpcc.number(low int, high int) RETURNS int LANGUAGE sql AS $$
    SELECT low + floor(random() * (high - low + 1))::int
$$;

-- Any stretch of a long text of letters and digits. Its last 500 characters are not begun in: c_data is as long.
CREATE FUNCTION lifeguard_tpcc.letters(pool text, low int, high int) RETURNS text LANGUAGE sql AS $$
    SELECT substr(pool, 1 + floor(random() * 500)::int, low + floor(random() * (high - low + 1))::int)
$$;

CREATE FUNCTION lifeguard_tpcc.pool() RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(substr('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789', lifeguard_tpcc.number(1, 62), 1), '')
    FROM generate_series(1, 1000)
$$;

-- One in ten holds the word that makes an item a brand.
CREATE FUNCTION lifeguard_tpcc.branded(pool text) RETURNS text LANGUAGE sql AS $$
    SELECT CASE WHEN random() < 0.1
        THEN overlay(lifeguard_tpcc.letters(pool, 26, 50) placing 'ORIGINAL' FROM lifeguard_tpcc.number(1, 18))
        ELSE lifeguard_tpcc.letters(pool, 26, 50) END
$$;

CREATE FUNCTION lifeguard_tpcc.zip() RETURNS text LANGUAGE sql AS $$
    SELECT lpad(lifeguard_tpcc.number(0, 9999)::text, 4, '0') || '11111'
$$;

CREATE FUNCTION lifeguard_tpcc.last_name(of_number int) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT syllables[of_number / 100 + 1] || syllables[of_number / 10 % 10 + 1] || syllables[of_number % 10 + 1]
    FROM (SELECT ARRAY['BAR', 'OUGHT', 'ABLE', 'PRI', 'PRES', 'ESE', 'ANTI', 'CALLY', 'ATION', 'EING']) AS told (syllables)
$$;

CREATE FUNCTION lifeguard_tpcc.make_items(item_count int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    pool text;
BEGIN
    PERFORM setseed(0.5);
    pool = lifeguard_tpcc.pool();
    INSERT INTO lifeguard_tpcc.item
    SELECT i, lifeguard_tpcc.number(1, 10000), lifeguard_tpcc.letters(pool, 14, 24),
        lifeguard_tpcc.number(100, 10000) / 100.0, lifeguard_tpcc.branded(pool)
    FROM generate_series(1, item_count) AS i;
END $$;

CREATE FUNCTION lifeguard_tpcc.make_next_warehouse(warehouse_count int, item_count int, customer_count int)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    w int = nextval('lifeguard_tpcc.next_warehouse');
    delivered int = customer_count * 7 / 10;
    pool text;
BEGIN
    IF w > warehouse_count THEN
        RETURN;
    END IF;
    PERFORM setseed(1.0 / (w + 2));
    pool = lifeguard_tpcc.pool();
    -- What was paid is what the history holds: 10.00 by each customer.
    INSERT INTO lifeguard_tpcc.warehouse
    SELECT w, lifeguard_tpcc.letters(pool, 6, 10), lifeguard_tpcc.letters(pool, 10, 20),
        lifeguard_tpcc.letters(pool, 10, 20), lifeguard_tpcc.letters(pool, 10, 20),
        lifeguard_tpcc.letters(pool, 2, 2), lifeguard_tpcc.zip(), lifeguard_tpcc.number(0, 2000) / 10000.0,
        customer_count * 100;
    INSERT INTO lifeguard_tpcc.district
    SELECT d, w, lifeguard_tpcc.letters(pool, 6, 10), lifeguard_tpcc.letters(pool, 10, 20),
        lifeguard_tpcc.letters(pool, 10, 20), lifeguard_tpcc.letters(pool, 10, 20),
        lifeguard_tpcc.letters(pool, 2, 2), lifeguard_tpcc.zip(), lifeguard_tpcc.number(0, 2000) / 10000.0,
        customer_count * 10, customer_count + 1
    FROM generate_series(1, 10) AS d;
    INSERT INTO lifeguard_tpcc.stock
    SELECT i, w, lifeguard_tpcc.number(10, 100), lifeguard_tpcc.letters(pool, 24, 24),
        lifeguard_tpcc.letters(pool, 24, 24), lifeguard_tpcc.letters(pool, 24, 24),
        lifeguard_tpcc.letters(pool, 24, 24), lifeguard_tpcc.letters(pool, 24, 24),
        lifeguard_tpcc.letters(pool, 24, 24), lifeguard_tpcc.letters(pool, 24, 24),
        lifeguard_tpcc.letters(pool, 24, 24), lifeguard_tpcc.letters(pool, 24, 24),
        lifeguard_tpcc.letters(pool, 24, 24), 0, 0, 0, lifeguard_tpcc.branded(pool)
    FROM generate_series(1, item_count) AS i;
    -- Every name there is has a customer, as long as there are enough of them; beyond that some names are frequent.
    INSERT INTO lifeguard_tpcc.customer
    SELECT c, d, w, lifeguard_tpcc.letters(pool, 8, 16), 'OE',
        lifeguard_tpcc.last_name(CASE WHEN c <= 1000 THEN c - 1
            ELSE ((lifeguard_tpcc.number(0, 255) | lifeguard_tpcc.number(0, 999)) + 100) % 1000 END),
        lifeguard_tpcc.letters(pool, 10, 20), lifeguard_tpcc.letters(pool, 10, 20),
        lifeguard_tpcc.letters(pool, 10, 20), lifeguard_tpcc.letters(pool, 2, 2), lifeguard_tpcc.zip(),
        lpad(floor(random() * 1e15)::bigint::text, 16, '0'), now(), CASE WHEN random() < 0.1 THEN 'BC' ELSE 'GC' END,
        50000, lifeguard_tpcc.number(0, 5000) / 10000.0, -10, 10, 1, 0, lifeguard_tpcc.letters(pool, 300, 500)
    FROM generate_series(1, 10) AS d, generate_series(1, customer_count) AS c;
    INSERT INTO lifeguard_tpcc.history
    SELECT c, d, w, d, w, now(), 10, lifeguard_tpcc.letters(pool, 12, 24)
    FROM generate_series(1, 10) AS d, generate_series(1, customer_count) AS c;
    -- Each customer of a district has one order of it, in an order that is drawn.
    WITH ordered AS (
        INSERT INTO lifeguard_tpcc.orders
        SELECT row_number() OVER (PARTITION BY d ORDER BY drawn), d, w, c, now(), NULL, lifeguard_tpcc.number(5, 15), 1
        FROM (
            SELECT d, c, random() AS drawn FROM generate_series(1, 10) AS d, generate_series(1, customer_count) AS c
        ) AS shuffled
        RETURNING o_id, o_d_id, o_ol_cnt
    )
    INSERT INTO lifeguard_tpcc.order_line
    SELECT o_id, o_d_id, w, line, lifeguard_tpcc.number(1, item_count), w,
        CASE WHEN o_id <= delivered THEN now() END, 5,
        CASE WHEN o_id <= delivered THEN 0 ELSE lifeguard_tpcc.number(1, 999999) / 100.0 END,
        lifeguard_tpcc.letters(pool, 24, 24)
    FROM ordered, generate_series(1, o_ol_cnt) AS line;
    UPDATE lifeguard_tpcc.orders SET o_carrier_id = lifeguard_tpcc.number(1, 10) WHERE o_w_id = w AND o_id <= delivered;
    INSERT INTO lifeguard_tpcc.new_order
    SELECT o, d, w FROM generate_series(1, 10) AS d, generate_series(delivered + 1, customer_count) AS o;
END $$;

SELECT lifeguard_tpcc.make_items(:items);
