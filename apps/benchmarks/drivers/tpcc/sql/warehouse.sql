SELECT lifeguard_tpcc.make_next_warehouse(:warehouses, :items, :customers);
