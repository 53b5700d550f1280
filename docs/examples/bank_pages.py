"""A bank's web pages from several processes: who posts at one sees it at the next. The session's token is a header.

gcom-registry &
python docs/examples/bank_pages.py alice 8001 &
python docs/examples/bank_pages.py bob 8002 &
curl -i -X POST 'localhost:8001/accounts/1?money=400'
curl -H 'Session: gs1....' localhost:8002/accounts/1
"""

import sys
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import gcom
import gcom.sessions
from gcom.bank.accounts import Bank

STATUS = {
    gcom.sessions.SessionTimeout: 503,  # this process lags: the client tries again, or asks another one
    gcom.sessions.SessionForked: 409,  # two went on with one token
    gcom.sessions.SessionUnknown: 410,
    gcom.sessions.BadToken: 400,
    gcom.BadValue: 400,
    gcom.replicated.Refused: 422,
    gcom.GComError: 503,
}


class Pages(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.answer(lambda bank, account, _: bank.balance(account))

    def do_POST(self) -> None:
        # The same form with the same token again, as after a lost answer, is one deposit.
        self.answer(lambda bank, account, money: bank.deposit(account, money))

    def answer(self, act) -> None:
        try:
            place = urlsplit(self.path)
            account, money = int(place.path.rpartition("/")[2]), int(parse_qs(place.query).get("money", ["0"])[0])
            session = store.session(token=self.headers.get("Session"), timeout_s=5.0)
            status, text = 200, f"account {account}: {act(session.state, account, money)}\n"
            token = session.token
        except ValueError as error:
            status, text, token = 400, f"{error}\n", None
        except gcom.GComError as error:
            status = next(it for kind, it in STATUS.items() if isinstance(error, kind))
            text, token = f"{error}\n", None
        self.send_response(status)
        if token:
            self.send_header("Session", token)
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: object) -> None:
        pass


name, port = sys.argv[1], int(sys.argv[2])
with (
    gcom.connect(name) as node,
    gcom.sessions.open(node, "bank", Bank) as store,
    ThreadingHTTPServer(("127.0.0.1", port), Pages) as server,
):
    print(f"{name} serves http://127.0.0.1:{server.server_port}/accounts/1", flush=True)
    with suppress(KeyboardInterrupt):
        server.serve_forever()
