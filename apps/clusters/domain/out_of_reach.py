"""Parameters that are not edited like others: those that only the registration changes, and those that run programs."""

import re

_REGISTERED = re.compile(
    r"listen_addresses|port|pcp_listen_addresses|pcp_port|pid_file_name|socket_dir|pcp_socket_dir|wd_ipc_socket_dir"
    r"|unix_socket_directories|unix_socket_group|unix_socket_permissions|logdir|work_dir|pool_passwd"
    r"|backend_(?:hostname|port|data_directory|application_name)[0-9]+",
    re.IGNORECASE,
)
_PROGRAM = re.compile(r"\w+_command|\w+_cmd|(?:ping|if_cmd|arping)_path", re.IGNORECASE)


def why_out_of_reach(name: str) -> str | None:
    """Why nobody edits this parameter here, in words; None if it can be edited."""
    if _REGISTERED.fullmatch(name) is None:
        return None
    return (
        f"{name} says where pgpool or a backend is found, and Lifeguard would lose sight of it. "
        "Change it in the file by hand, restart pgpool, and change the registration in Settings."
    )


def runs_programs(name: str) -> bool:
    """Whether pgpool runs what stands there: only an admin may change it."""
    return _PROGRAM.fullmatch(name) is not None
