import os
import socket

import pytest

from anabranch.adapters.embedded.errors import PortTakenError
from anabranch.adapters.embedded.ports import choose, is_free, refuse_taken
from anabranch.adapters.embedded.state import Ports


def test_chosen_ports_are_free_and_all_different() -> None:
    chosen = choose(5)
    numbers = [number for pair in chosen for number in (pair.client, pair.controller)]

    assert len(chosen) == 5
    assert len(set(numbers)) == 10
    assert all(is_free(number) for number in numbers)
    refuse_taken(chosen)


@pytest.mark.parametrize("which", ["client", "controller"])
def test_a_taken_port_is_refused_with_its_holder(which: str) -> None:
    (free,) = choose(1)
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = int(other.getsockname()[1])
        ports = Ports(port, free.controller) if which == "client" else Ports(free.client, port)

        with pytest.raises(PortTakenError) as caught:
            refuse_taken([ports])

    assert str(port) in caught.value.what
    assert f"process {os.getpid()} (" in caught.value.what
    assert "--new-ports" in caught.value.remedy
    assert is_free(port)
