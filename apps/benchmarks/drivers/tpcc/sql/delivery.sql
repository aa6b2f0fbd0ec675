\set w random(1, :warehouses)
\set carrier random(1, 10)
CALL lifeguard_tpcc.delivery(:w, :carrier);
