-- Keys when the tables are full: each is made once, and not entry by entry.
ALTER TABLE lifeguard_tpcc.warehouse ADD PRIMARY KEY (w_id);
ALTER TABLE lifeguard_tpcc.district ADD PRIMARY KEY (d_w_id, d_id);
ALTER TABLE lifeguard_tpcc.customer ADD PRIMARY KEY (c_w_id, c_d_id, c_id);
ALTER TABLE lifeguard_tpcc.new_order ADD PRIMARY KEY (no_w_id, no_d_id, no_o_id);
ALTER TABLE lifeguard_tpcc.orders ADD PRIMARY KEY (o_w_id, o_d_id, o_id);
ALTER TABLE lifeguard_tpcc.order_line ADD PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number);
ALTER TABLE lifeguard_tpcc.item ADD PRIMARY KEY (i_id);
ALTER TABLE lifeguard_tpcc.stock ADD PRIMARY KEY (s_w_id, s_i_id);
CREATE INDEX customer_by_name ON lifeguard_tpcc.customer (c_w_id, c_d_id, c_last, c_first);
CREATE INDEX orders_by_customer ON lifeguard_tpcc.orders (o_w_id, o_d_id, o_c_id, o_id);
INSERT INTO lifeguard_tpcc.made VALUES (:made_by, :warehouses, :size_percent);
