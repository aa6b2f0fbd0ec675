\set w random(1, :warehouses)
\set d random(1, 10)
\set c ((random(0, 1023) | random(1, :customers)) + 259) % :customers + 1
\set lines random(5, 15)
\set wrong CASE WHEN random(1, 100) = 1 THEN 1 ELSE 0 END
\set i1 ((random(0, 8191) | random(1, :items)) + 5023) % :items + 1
\set i2 ((random(0, 8191) | random(1, :items)) + 5023) % :items + 1
\set i3 ((random(0, 8191) | random(1, :items)) + 5023) % :items + 1
\set i4 ((random(0, 8191) | random(1, :items)) + 5023) % :items + 1
\set i5 ((random(0, 8191) | random(1, :items)) + 5023) % :items + 1
\set i6 ((random(0, 8191) | random(1, :items)) + 5023) % :items + 1
\set i7 ((random(0, 8191) | random(1, :items)) + 5023) % :items + 1
\set i8 ((random(0, 8191) | random(1, :items)) + 5023) % :items + 1
\set i9 ((random(0, 8191) | random(1, :items)) + 5023) % :items + 1
\set i10 ((random(0, 8191) | random(1, :items)) + 5023) % :items + 1
\set i11 ((random(0, 8191) | random(1, :items)) + 5023) % :items + 1
\set i12 ((random(0, 8191) | random(1, :items)) + 5023) % :items + 1
\set i13 ((random(0, 8191) | random(1, :items)) + 5023) % :items + 1
\set i14 ((random(0, 8191) | random(1, :items)) + 5023) % :items + 1
\set i15 ((random(0, 8191) | random(1, :items)) + 5023) % :items + 1
\set s1 CASE WHEN random(1, 100) = 1 THEN (:w - 1 + random(1, greatest(1, :warehouses - 1))) % :warehouses + 1 ELSE :w END
\set s2 CASE WHEN random(1, 100) = 1 THEN (:w - 1 + random(1, greatest(1, :warehouses - 1))) % :warehouses + 1 ELSE :w END
\set s3 CASE WHEN random(1, 100) = 1 THEN (:w - 1 + random(1, greatest(1, :warehouses - 1))) % :warehouses + 1 ELSE :w END
\set s4 CASE WHEN random(1, 100) = 1 THEN (:w - 1 + random(1, greatest(1, :warehouses - 1))) % :warehouses + 1 ELSE :w END
\set s5 CASE WHEN random(1, 100) = 1 THEN (:w - 1 + random(1, greatest(1, :warehouses - 1))) % :warehouses + 1 ELSE :w END
\set s6 CASE WHEN random(1, 100) = 1 THEN (:w - 1 + random(1, greatest(1, :warehouses - 1))) % :warehouses + 1 ELSE :w END
\set s7 CASE WHEN random(1, 100) = 1 THEN (:w - 1 + random(1, greatest(1, :warehouses - 1))) % :warehouses + 1 ELSE :w END
\set s8 CASE WHEN random(1, 100) = 1 THEN (:w - 1 + random(1, greatest(1, :warehouses - 1))) % :warehouses + 1 ELSE :w END
\set s9 CASE WHEN random(1, 100) = 1 THEN (:w - 1 + random(1, greatest(1, :warehouses - 1))) % :warehouses + 1 ELSE :w END
\set s10 CASE WHEN random(1, 100) = 1 THEN (:w - 1 + random(1, greatest(1, :warehouses - 1))) % :warehouses + 1 ELSE :w END
\set s11 CASE WHEN random(1, 100) = 1 THEN (:w - 1 + random(1, greatest(1, :warehouses - 1))) % :warehouses + 1 ELSE :w END
\set s12 CASE WHEN random(1, 100) = 1 THEN (:w - 1 + random(1, greatest(1, :warehouses - 1))) % :warehouses + 1 ELSE :w END
\set s13 CASE WHEN random(1, 100) = 1 THEN (:w - 1 + random(1, greatest(1, :warehouses - 1))) % :warehouses + 1 ELSE :w END
\set s14 CASE WHEN random(1, 100) = 1 THEN (:w - 1 + random(1, greatest(1, :warehouses - 1))) % :warehouses + 1 ELSE :w END
\set s15 CASE WHEN random(1, 100) = 1 THEN (:w - 1 + random(1, greatest(1, :warehouses - 1))) % :warehouses + 1 ELSE :w END
\set q1 random(1, 10)
\set q2 random(1, 10)
\set q3 random(1, 10)
\set q4 random(1, 10)
\set q5 random(1, 10)
\set q6 random(1, 10)
\set q7 random(1, 10)
\set q8 random(1, 10)
\set q9 random(1, 10)
\set q10 random(1, 10)
\set q11 random(1, 10)
\set q12 random(1, 10)
\set q13 random(1, 10)
\set q14 random(1, 10)
\set q15 random(1, 10)
CALL lifeguard_tpcc.new_order(:w, :d, :c, :lines, :wrong, ARRAY[:i1, :i2, :i3, :i4, :i5, :i6, :i7, :i8, :i9, :i10, :i11, :i12, :i13, :i14, :i15]::int[], ARRAY[:s1, :s2, :s3, :s4, :s5, :s6, :s7, :s8, :s9, :s10, :s11, :s12, :s13, :s14, :s15]::int[], ARRAY[:q1, :q2, :q3, :q4, :q5, :q6, :q7, :q8, :q9, :q10, :q11, :q12, :q13, :q14, :q15]::int[]);
