"""What is served, to whom, and with which fields."""

import gzip
import os
import unittest

from support import ROOT, ConsoleCase, Server, browser


class Serving(ConsoleCase):
    # What a browser asks for beside a page of plain text.
    expected_problems = ("favicon.ico", "/rooms/kitchen")

    def setUp(self):
        self.page = browser().page()

    def get(self, path, **fields):
        return self.server.request("GET", path, headers={k.replace("_", "-"): v for k, v in fields.items()}, token=None)

    def test_banner_names_the_console(self):
        self.assertIn(f"console     {self.server.url}", self.server.output)
        self.page.open(self.server.url)
        self.page.wait_text("Connected", "#connection")

    def test_files_are_compressed_and_not_sent_twice(self):
        status, fields, body = self.get("/console/main.js", Accept_Encoding="gzip, br")
        self.assertEqual((status, fields["Content-Encoding"]), (200, "gzip"))
        self.assertEqual(gzip.decompress(body), self.get("/console/main.js")[2])
        status, again, body = self.get("/console/main.js", Accept_Encoding="gzip", If_None_Match=fields["ETag"])
        self.assertEqual((status, body), (304, b""))
        self.assertNotEqual(fields["ETag"], self.get("/console/main.js")[1]["ETag"])

    def test_policy_lets_nothing_else_in(self):
        for path in ("/console/", "/console/main.js", "/console/nothing.js"):
            _, fields, _ = self.get(path)
            policy = fields["Content-Security-Policy"]
            self.assertIn("default-src 'none'", policy)
            self.assertIn("frame-ancestors 'none'", policy)
            self.assertNotIn("unsafe", policy)
            self.assertEqual(fields["X-Content-Type-Options"], "nosniff")
            self.assertEqual(fields["Referrer-Policy"], "no-referrer")
            self.assertIsNone(fields["Access-Control-Allow-Origin"])

    def test_foreign_pages_and_names_are_refused(self):
        self.assertEqual(self.get("/console/", Origin="https://evil.example")[0], 403)
        self.assertEqual(self.get("/console/", Host="evil.example")[0], 403)
        self.assertEqual(self.get("/console/session", Origin="null")[0], 403)

    def test_root_leads_browsers_to_the_console(self):
        self.page.open(f"http://{self.server.address}/")
        self.page.wait_text("Connected", "#connection")
        self.assertTrue(self.page.evaluate("location.pathname") == "/console/")
        # SDKs and tools see what they always saw.
        self.assertIn(b"authEmulator", self.get("/", Accept="application/json")[2])

    def test_other_addresses_say_where_data_is(self):
        self.page.open(f"http://{self.server.address}/rooms/kitchen")
        self.page.wait_text("/rooms/kitchen.json")

    def test_all_files_are_small(self):
        names = ["", "style.css", "main.js", "icon.svg"]
        total = sum(len(self.get(f"/console/{name}")[2]) for name in names)
        self.assertLess(total, 250_000)

    def test_data_below_console_is_data(self):
        self.server.put("/console/main", 5)
        self.assertEqual(self.get("/console/main.json")[2], b"5")
        self.assertEqual(self.get("/console.json")[2], b'{"main":5}')


class PublicListener(unittest.TestCase):
    def test_console_is_not_there(self):
        server = Server("--rules", os.path.join(ROOT, "deploy/sample-rules.json"), development=False)
        try:
            self.assertIn(f"console at {server.url}", server.output)
            for listener, status in ((server.address, 404), (server.admin, 200)):
                server.admin = listener
                for path in ("/console/", "/console/main.js", "/console/session"):
                    self.assertEqual(server.request("GET", path, token=None)[0], status, (listener, path))
        finally:
            server.remove()
