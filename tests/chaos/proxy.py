"""The proxy in a process of its own, so that what is measured of the client is the client's alone.

Lines on standard input and output: `expect SIZE PATH`, `take PATH`, `unknown`, `shapes`, `on`,
`off`; each is answered with a line of JSON. The first line that comes out is the URL.
"""

from __future__ import annotations

import json
import sys
import threading
import time

from tests.chaos.faults import Dealer
from tests.servers.counting_proxy import CountingProxy


def _forget(proxy: CountingProxy) -> None:
    # Its records are of no use here.
    while True:
        time.sleep(2)
        proxy.clear()


def main() -> None:
    """Serves until standard input ends."""
    upstream, seed = sys.argv[1:]
    dealer = Dealer(int(seed))
    with CountingProxy(upstream) as proxy:
        proxy.script = dealer.deal
        threading.Thread(target=_forget, args=(proxy,), daemon=True).start()
        print(json.dumps(proxy.url), flush=True)
        for line in sys.stdin:
            verb, _, rest = line.rstrip("\n").partition(" ")
            answer: object = None
            if verb == "expect":
                size, _, path = rest.partition(" ")
                dealer.expect(path, int(size))
            elif verb == "take":
                answer = dealer.take(rest)
            elif verb == "unknown":
                answer = sorted(dealer.unknown_uploads())
            elif verb == "shapes":
                answer = dealer.shapes()
            else:
                dealer.enabled = verb == "on"
            print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
