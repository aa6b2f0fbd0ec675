\set w random(1, :warehouses)
\set d random(1, 10)
\set c ((random(0, 1023) | random(1, :customers)) + 259) % :customers + 1
\set name CASE WHEN random(1, 100) <= 60 THEN ((random(0, 255) | random(0, :names - 1)) + 184) % :names ELSE -1 END
SELECT * FROM lifeguard_tpcc.order_status(:w, :d, :c, :name);
