"""The system call filter: what mounts and namespaces leave open, refused in the kernel.

A program for the kernel's classic BPF machine, assembled here for one processor family. It closes:
sockets to daemons by path, and every family but the internet's (virtual machine sockets know no
namespaces); mounts and new namespaces; terminal injection; io_uring, whose requests no filter sees;
kernel keyrings, which a session inherits. Connected pairs of unix sockets stay, but only of the
kinds that cannot be turned to another address afterwards.
"""

from __future__ import annotations

import errno
import platform
import struct
from collections.abc import Mapping
from types import MappingProxyType

__all__ = ["ARCHITECTURES", "filter_program"]

_LD, _JEQ, _JGE, _JSET, _AND, _RET = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_NR, _ARCH = 0, 4
#: Offsets of the low halves of the arguments; the kernel reads these as 32-bit values.
_ARG0, _ARG1 = 16, 24

_AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK = 1, 2, 10, 16
_SOCK_STREAM, _SOCK_SEQPACKET, _SOCK_KIND = 1, 5, 0xF
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
#: mount, cgroup, uts, ipc, user, pid and network namespaces.
_NEW_NAMESPACES = 0x7E020000

#: The kernel's name of each architecture, and where its numbers differ from the common ones.
ARCHITECTURES: Mapping[str, int] = MappingProxyType(
    {"x86_64": 0xC000003E, "aarch64": 0xC00000B7, "riscv64": 0xC00000F3}
)
#: Numbers on x86_64, then on the architectures that share the generic table.
_NUMBERS = {
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51),
    "unshare": (272, 97), "setns": (308, 268), "open_tree": (428, 428), "move_mount": (429, 429),
    "fsopen": (430, 430), "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433),
    "mount_setattr": (442, 442), "open_tree_attr": (467, 467),
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219),
    "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282),
    "open_by_handle_at": (304, 265), "kexec_load": (246, 104), "kexec_file_load": (320, 294),
    "init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106),
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    "clone3": (435, 435), "clone": (56, 220), "socket": (41, 198), "socketpair": (53, 199),
    "ioctl": (16, 29),
}  # fmt: skip

#: Answered as if the kernel had never heard of them: callers then take the older way.
_ABSENT = frozenset({"clone3", "io_uring_setup", "io_uring_enter", "io_uring_register"})
_JUDGED = frozenset({"clone", "socket", "socketpair", "ioctl"})

_Code = tuple[int, int, int, int]


def filter_program(machine: str | None = None, *, internet: bool = True) -> bytes | None:
    """Return the filter for a processor family, None where we have none.

    ``internet`` False refuses internet sockets too, for backends that have no network of their own.
    """
    machine = machine or platform.machine()
    arch = ARCHITECTURES.get(machine)
    if arch is None:
        return None
    column = 0 if machine == "x86_64" else 1
    number = {name: both[column] for name, both in _NUMBERS.items()}
    families = (_AF_INET, _AF_INET6, _AF_NETLINK) if internet else (_AF_NETLINK,)
    code: list[_Code] = [
        (_LD, 0, 0, _ARCH),
        (_JEQ, 1, 0, arch),
        # Another table of calls on the same machine would be a way around this one.
        (_RET, 0, 0, _ERRNO | errno.ENOSYS),
        (_LD, 0, 0, _NR),
    ]
    if machine == "x86_64":
        code += [(_JGE, 0, 1, 0x40000000), (_RET, 0, 0, _ERRNO | errno.ENOSYS)]
    for name, nr in number.items():
        if name not in _JUDGED:
            answer = errno.ENOSYS if name in _ABSENT else errno.EPERM
            code += [(_JEQ, 0, 1, nr), (_RET, 0, 0, _ERRNO | answer)]
    code += _block(number["clone"], [(_LD, 0, 0, _ARG0), *_refuse(_JSET, _NEW_NAMESPACES)])
    code += _block(number["ioctl"], [(_LD, 0, 0, _ARG1), *_refuse(_JEQ, _TIOCSTI, _TIOCLINUX)])
    code += _block(number["socket"], [(_LD, 0, 0, _ARG0), *_admit(*families)])
    code += _block(
        number["socketpair"],
        [(_LD, 0, 0, _ARG1), (_AND, 0, 0, _SOCK_KIND), *_admit(_SOCK_STREAM, _SOCK_SEQPACKET)],
    )
    code.append((_RET, 0, 0, _ALLOW))
    return b"".join(struct.pack("=HBBI", *one) for one in code)


def _block(nr: int, body: list[_Code]) -> list[_Code]:
    """Run a body, which always returns, for one call; others skip it with their number loaded."""
    return [(_JEQ, 0, len(body), nr), *body]


def _refuse(test: int, *values: int) -> list[_Code]:
    tests = [(test, len(values) - i, 0, value) for i, value in enumerate(values)]
    return [*tests, (_RET, 0, 0, _ALLOW), (_RET, 0, 0, _ERRNO | errno.EPERM)]


def _admit(*values: int) -> list[_Code]:
    tests = [(_JEQ, len(values) - i, 0, value) for i, value in enumerate(values)]
    return [*tests, (_RET, 0, 0, _ERRNO | errno.EPERM), (_RET, 0, 0, _ALLOW)]
