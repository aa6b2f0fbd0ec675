\set w random(1, :warehouses)
\set d random(1, 10)
\set cw CASE WHEN random(1, 100) <= 15 THEN (:w - 1 + random(1, greatest(1, :warehouses - 1))) % :warehouses + 1 ELSE :w END
\set cd CASE WHEN :cw = :w THEN :d ELSE random(1, 10) END
\set c ((random(0, 1023) | random(1, :customers)) + 259) % :customers + 1
\set name CASE WHEN random(1, 100) <= 60 THEN ((random(0, 255) | random(0, :names - 1)) + 184) % :names ELSE -1 END
\set cents random(100, 500000)
CALL lifeguard_tpcc.payment(:w, :d, :cw, :cd, :c, :name, :cents);
