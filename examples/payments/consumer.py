"""A consumer of payments: captures them, reports what fails, retries what is due, ships what is paid.

It keeps no list of what failed and has no schedule of its own: Recoup does.
"""

import sys
import time

import recoup

TABLE = "payments.capture_errors"


class Failed(Exception):
    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


class Bank:
    """Stands in for the bank and its bad days: the last digit of an order says which."""

    def __init__(self):
        self.asked = {}

    def capture(self, order):
        self.asked[order] = self.asked.get(order, 0) + 1
        if order.endswith("2") and self.asked[order] == 1:
            raise Failed("BANK_UNAVAILABLE", "the bank did not answer within 10 s")
        if order.endswith("3"):
            raise Failed("CARD_DECLINED", "the card has expired")
        if order.endswith("4"):  # at first it does not answer, then it says no
            if self.asked[order] == 1:
                raise Failed("BANK_UNAVAILABLE", "the bank answered 503")
            raise Failed("AMOUNT_MISMATCH", "authorised with another amount")


def consume(client, bank, order):
    """Captures one payment, or reports why not. A payment that is delivered twice is reported once."""
    try:
        bank.capture(order)
        print(f"{order} captured")
        return False
    except Failed as failure:
        error = client.report(TABLE, order, failure.code, str(failure), key="capture/" + order)
        print(f"{order} failed: {failure.code}, {error['state']}")
        return error["state"] == "RETRY_PENDING"


def retry(client, bank, waiting, patience):
    """Works on what falls due until nothing that this run reported is left of it."""
    end = time.monotonic() + patience
    while waiting and time.monotonic() < end:
        for error in client.claim("payments-consumer", TABLE, wait=20):
            order = error["entity_id"]
            code = None
            try:
                bank.capture(order)
            except Failed as failure:
                code = failure.code
            now = client.result(error, code)
            print(f"{order} retried: {code or 'captured'}, {now['state']}")
            if now["state"] != "RETRY_PENDING":
                waiting.discard(order)


def ship(client, orders):
    """Ships every order whose gate is open."""
    for order in orders:
        if client.promote(order, "shipping"):
            print(f"{order} shipped")
            continue
        for blocker in client.gate(order)["blockers"]:
            print(f"{order} waits: {blocker['code']} is {blocker['state']}, owned by {blocker['owner']}")


def main(orders):
    client, bank = recoup.Client(), Bank()
    waiting = {order for order in orders if consume(client, bank, order)}
    retry(client, bank, waiting, patience=60)
    ship(client, orders)


if __name__ == "__main__":
    main(sys.argv[1:] or ["order-1", "order-2", "order-3", "order-4"])
