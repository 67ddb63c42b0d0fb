"""All that a Python program needs to talk to Recoup: the standard library."""

import json
import os
import urllib.error
import urllib.parse
import urllib.request


class Refused(Exception):
    """What the server answered instead: its code, its message, its status."""

    def __init__(self, status, answer):
        super().__init__(f"{answer.get('error_code')}: {answer.get('message')}")
        self.status, self.code = status, answer.get("error_code")


class Client:
    def __init__(self, server=None, key=None):
        self.server = server or os.environ.get("RECOUP_SERVER", "http://127.0.0.1:8080")
        self.key = key or os.environ.get("RECOUP_KEY", "")

    def ask(self, path, body=None, key=None):
        """Sends a request; one with an idempotency key may be sent again."""
        headers = {"Authorization": "Bearer " + self.key, "Content-Type": "application/json"}
        if key:
            headers["Idempotency-Key"] = key
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.server + path, data, headers)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as failure:
            raise Refused(failure.code, json.load(failure)) from None

    def report(self, table, entity, code, message, key):
        report = {"table": table, "entity_id": entity, "code": code, "message": message}
        return self.ask("/v1/errors", report, key)["error"]

    def claim(self, worker, table, wait):
        """Errors that are due, leased to this worker; waits until there is one."""
        claim = {"worker": worker, "tables": [table], "wait_seconds": wait}
        return self.ask("/v1/retries/claim", claim)["errors"]

    def result(self, error, code=None):
        """Says how a retry went: with a code it failed. Returns the error as it is now."""
        result = {"lease_token": error["lease_token"]}
        verb = "succeed"
        if code:
            verb, result["code"] = "fail", code
        return self.ask(f"/v1/retries/{error['error_id']}/{verb}", result)["error"]

    def gate(self, entity):
        return self.ask("/v1/promotion/" + urllib.parse.quote(entity, safe=""))

    def promote(self, entity, phase):
        """Checks the gate and records the promotion in one; False if it is closed."""
        try:
            self.ask("/v1/promotions", {"entity_id": entity, "phase": phase}, f"{entity}/{phase}")
        except Refused as refused:
            if refused.code != "PROMOTION_BLOCKED":
                raise
            return False
        return True
