"""What settings of one pgpool.conf mean to one another: weights, connections, missing lines."""

from collections.abc import Collection, Iterator, Mapping

from apps.clusters.domain.findings import Finding, error, warning
from apps.clusters.domain.parameters.catalogue import Catalogue
from apps.clusters.domain.parameters.parameter import normal, number
from apps.clusters.domain.pgpool_conf import PgpoolConf


def check_together(
    conf: PgpoolConf, catalogue: Catalogue, node_ids: Collection[int], connection_limits: Mapping[int, int]
) -> list[Finding]:
    """What is wrong though every line alone is right."""
    return [
        *_missing_backends(conf, node_ids),
        *_weights(conf, catalogue, node_ids),
        *_connections(conf, catalogue, connection_limits),
        *_reserved(conf, catalogue),
        *_spare(conf, catalogue),
        *_blocks(conf, catalogue),
        *_heartbeats(conf),
        *_modes(conf, catalogue),
    ]


def _missing_backends(conf: PgpoolConf, node_ids: Collection[int]) -> Iterator[Finding]:
    for node_id in sorted(set(node_ids) - set(conf.backend_node_ids())):
        name = f"backend_hostname{node_id}"
        message = f"{name} is missing: after its next start pgpool would not know backend {node_id}"
        yield error(name, message, f"a line {name} = '…', as in the file that pgpool was started with")


def _weights(conf: PgpoolConf, catalogue: Catalogue, node_ids: Collection[int]) -> Iterator[Finding]:
    present = sorted(set(node_ids) & set(conf.backend_node_ids()))
    weights = {node_id: figure(conf, catalogue, f"backend_weight{node_id}") for node_id in present}
    for node_id in present:
        name = f"backend_weight{node_id}"
        if conf.get(name) is None:
            yield error(name, f"{name} is missing: pgpool counts it as 0 after a reload", f"a line {name} = 1")
    if present and all(weight == 0 for weight in weights.values()):
        message = "all backend_weight are 0: pgpool would send every read to backend 0"
        yield error(
            f"backend_weight{present[0]}", message, "at least one weight above 0", _line(conf, "backend_weight")
        )


def _connections(conf: PgpoolConf, catalogue: Catalogue, limits: Mapping[int, int]) -> Iterator[Finding]:
    children, pools = figure(conf, catalogue, "num_init_children"), figure(conf, catalogue, "max_pool")
    if not limits or children is None or pools is None:
        return
    node_id = min(limits, key=lambda each: limits[each])
    most = limits[node_id]
    line = _line(conf, "num_init_children")
    room = f"backend {node_id} lets others open {most} sessions"
    if children > most:
        message = (
            f"num_init_children = {children:.0f}, but {room} (max_connections less superuser_reserved_connections)"
        )
        yield error("num_init_children", message, f"at most {most}", line)
    elif children * pools > most:
        message = (
            f"num_init_children × max_pool = {children * pools:.0f}, but {room}"
            " (max_connections less superuser_reserved_connections): clients may be refused"
        )
        yield warning("num_init_children", message, f"num_init_children × max_pool of at most {most}", line)


def _reserved(conf: PgpoolConf, catalogue: Catalogue) -> Iterator[Finding]:
    children, reserved = figure(conf, catalogue, "num_init_children"), figure(conf, catalogue, "reserved_connections")
    if children is not None and reserved is not None and reserved >= children:
        message = (
            f"reserved_connections = {reserved:.0f} leaves no child for clients: num_init_children is {children:.0f}"
        )
        line = _line(conf, "reserved_connections") or _line(conf, "num_init_children")
        yield error("reserved_connections", message, f"less than {children:.0f}", line)


def _spare(conf: PgpoolConf, catalogue: Catalogue) -> Iterator[Finding]:
    least, most = figure(conf, catalogue, "min_spare_children"), figure(conf, catalogue, "max_spare_children")
    if conf.get("process_management_mode") != "dynamic" or least is None or most is None or least < most:
        return
    message = f"min_spare_children = {least:.0f} is not below max_spare_children = {most:.0f}"
    line = _line(conf, "min_spare_children") or _line(conf, "max_spare_children")
    yield error("min_spare_children", message, f"less than {most:.0f}", line)


def _blocks(conf: PgpoolConf, catalogue: Catalogue) -> Iterator[Finding]:
    block = figure(conf, catalogue, "memqcache_cache_block_size")
    largest = figure(conf, catalogue, "memqcache_maxcache")
    if block is None or largest is None or largest <= block:
        return
    message = f"memqcache_maxcache = {largest:.0f} bytes does not fit into a block of the cache of {block:.0f} bytes"
    yield warning("memqcache_maxcache", message, f"at most {block:.0f}", _line(conf, "memqcache_maxcache"))


def _heartbeats(conf: PgpoolConf) -> Iterator[Finding]:
    values = conf.values()
    for name in values:
        number_text = name.removeprefix("heartbeat_port")
        if number_text != name and number_text.isdecimal() and not values.get(f"heartbeat_hostname{number_text}"):
            message = f"{name} stands without heartbeat_hostname{number_text}: pgpool would refuse the whole file"
            yield error(name, message, f"a line heartbeat_hostname{number_text} = '…'", _line(conf, name))


def _modes(conf: PgpoolConf, catalogue: Catalogue) -> Iterator[Finding]:
    if _is_on(conf, catalogue, "replication_mode") and _is_on(conf, catalogue, "failover_when_quorum_exists"):
        message = "replication_mode = on: pgpool refuses the whole file while failover_when_quorum_exists is on"
        remedy = "failover_when_quorum_exists = off, or backend_clustering_mode instead"
        yield error("replication_mode", message, remedy, _line(conf, "replication_mode"))
    members = [name for name, value in conf.values().items() if name.startswith("hostname") and value]
    if _is_on(conf, catalogue, "use_watchdog") and not members and catalogue.find("hostname0"):
        message = "use_watchdog = on: pgpool refuses the whole file while it names no pgpool of the watchdog"
        yield error("use_watchdog", message, "lines hostname0, wd_port0 and pgpool_port0", _line(conf, "use_watchdog"))


def _is_on(conf: PgpoolConf, catalogue: Catalogue, name: str) -> bool:
    parameter = catalogue.find(name)
    text = conf.get(name)
    return parameter is not None and normal(parameter, text or parameter.default or "") == "on"


def figure(conf: PgpoolConf, catalogue: Catalogue, name: str) -> float | None:
    """What pgpool would use: the value of the file, else the default; None where that is no figure."""
    parameter = catalogue.find(name)
    if parameter is None:
        return None
    text = conf.get(name)
    return number(parameter, parameter.default or "" if text is None else text)


def _line(conf: PgpoolConf, name: str) -> int | None:
    """Where the value of the parameter that counts, or the first of a numbered one, stands."""
    exact = [setting.line_number for setting in conf.settings if setting.name == name]
    numbered = (setting.line_number for setting in conf.settings if setting.name.startswith(name))
    return exact[-1] if exact else next(numbered, None)
