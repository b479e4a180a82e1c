"""Accounts, connections, profile, history, backups, log, metrics, settings."""

import json
import socket
import base64
import os

from support import ConsoleCase

HOSTILE = "<img src=x onerror=alert(1)>"
#: Unsigned ID tokens of development mode: {"sub":"ann"}.
ANN = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbm4ifQ."


class Accounts(ConsoleCase):
    place = "/identitytoolkit.googleapis.com/v1/projects/-/accounts"

    def make(self, **fields):
        status, _, body = self.server.request("POST", self.place, fields)
        assert status == 200, body
        return json.loads(body)["localId"]

    def find(self, **expression):
        body = self.server.request("POST", self.place + ":query", {"expression": [expression]})[2]
        return json.loads(body).get("userInfo", [None])[0]

    def update(self, fields):
        self.assertEqual(self.server.request("POST", self.place + ":update", fields)[0], 200)

    def setUp(self):
        super().setUp()
        for user in json.loads(self.server.request("GET", self.place + ":batchGet?maxResults=1000")[2]).get("users", []):
            self.server.request("POST", self.place + ":delete", {"localId": user["localId"]})

    def test_list_and_pages(self):
        for number in range(60):
            self.make(email=f"user{number:02}@example.com")
        self.open(screen="accounts")
        self.page.wait_text("Page 1, 50 accounts; more follow")
        self.page.click("button", "Next")
        self.page.wait_text("Page 2, 10 accounts")
        self.page.click("button", "Previous")
        self.page.wait_text("Page 1, 50 accounts")

    def test_search(self):
        self.make(email="ann@example.com")
        self.make(email="bob@example.com")
        self.open(screen="accounts")
        self.page.wait_text("bob@example.com")
        self.page.fill("input[type=search]", "ann@example.com")
        self.page.key("Enter")
        self.page.wait_text("1 found")
        self.assertNotIn("bob@", self.page.text("table"))
        self.page.fill("input[type=search]", "nobody@example.com")
        self.page.key("Enter")
        self.page.wait_text("Nobody has exactly this")

    def test_create(self):
        self.open(screen="accounts")
        self.page.click("button", "Create account…")
        self.page.fill("dialog input[inputmode=email]", "new@example.com")
        self.page.fill("dialog input[type=password]", "short")
        self.page.key("Enter")
        self.dialog("WEAK_PASSWORD")
        self.page.fill("dialog input[type=password]", "long enough")
        self.page.key("Enter")
        self.notice("Created new@example.com")
        self.page.wait_text("new@example.com", "table")
        self.page.problems.clear()

    def open_account(self, email):
        self.open(screen="accounts")
        self.page.wait_text(email, "table")
        self.page.click("table button", email)
        self.dialog("Custom claims")

    def test_claims_and_state(self):
        self.make(email="ann@example.com")
        self.open_account("ann@example.com")
        self.page.fill("dialog textarea", '{"admin":')
        self.page.key("Enter", "ctrl")
        self.dialog("The claims are no JSON")
        self.page.fill("dialog textarea", '{"level":9007199254740993}')
        self.page.click("#user-disabled")
        self.page.click("dialog button.primary")
        self.notice("Saved ann@example.com")
        self.page.wait_text("disabled", "table")
        user = self.find(email="ann@example.com")
        self.assertTrue(user["disabled"])
        self.assertEqual(user["customAttributes"], '{"level":9007199254740993}')

    def test_dialog_waits_for_what_is_under_way(self):
        self.open(screen="accounts")
        self.page.evaluate("""(() => {
          const { send } = WebSocket.prototype;
          window.held = [];
          WebSocket.prototype.send = function (text) {
            if (text.includes('displayName')) held.push(() => send.call(this, text)); else send.call(this, text);
          };
        })()""")
        for way in ("keys", "button"):
            self.page.click("button", "Create account…")
            self.page.fill("dialog .field:nth-of-type(3) input", "Ann")
            if way == "button":
                self.page.click("dialog button.primary")
            for _ in range(3):
                self.page.key("Enter", "ctrl")
            self.page.key("Escape", count=3)
            self.assertTrue(self.page.evaluate("[...document.querySelectorAll('dialog[open] .buttons button')].every((b) => b.disabled)"))
            self.assertEqual(self.page.evaluate("held.length"), 1)
            self.page.evaluate("held.pop()()")
            self.page.wait("!document.querySelector('dialog')")
        self.page.wait_text("Page 1, 2 accounts")

    def test_address_beyond_ascii(self):
        self.open(screen="accounts")
        self.page.click("button", "Create account…")
        self.page.fill("dialog input[inputmode=email]", "jörg@example.com")
        self.page.click("dialog button.primary")
        self.notice("Created jörg@example.com")
        self.page.click("table button", "jörg@example.com")
        self.dialog("Custom claims")
        self.page.fill("dialog textarea", '{"level":1}')
        self.page.click("dialog button.primary")
        self.notice("Saved jörg@example.com")
        self.assertEqual(self.find(email="jörg@example.com")["customAttributes"], '{"level":1}')

    def test_address_and_name_are_removed(self):
        id = self.make(email="ann@example.com", displayName="Ann", emailVerified=True)
        self.open_account("ann@example.com")
        self.page.fill("dialog input[inputmode=email]", "")
        self.page.click("dialog button.primary")
        self.notice("Saved ann@example.com")
        user = self.find(userId=id)
        self.assertNotIn("email", user)
        self.assertFalse(user.get("emailVerified", False))
        self.assertEqual(user["displayName"], "Ann")
        self.page.click("table button", id)
        self.dialog("Custom claims")
        self.page.fill("dialog input:not([inputmode])", "")
        self.page.click("dialog button.primary")
        self.page.wait("!document.querySelector('dialog')")
        self.assertNotIn("displayName", self.find(userId=id))

    def test_other_changes_since_the_list_was_shown_stay(self):
        id = self.make(email="ann@example.com")
        self.open(screen="accounts")
        self.page.wait_text("ann@example.com", "table")
        self.update({"localId": id, "disableUser": True, "customAttributes": '{"level":1}'})
        self.page.click("table button", "ann@example.com")
        self.dialog("Custom claims")
        self.assertTrue(self.page.evaluate("document.querySelector('#user-disabled').checked"))
        self.update({"localId": id, "customAttributes": '{"level":2}', "emailVerified": True})
        self.page.fill("dialog input:not([inputmode])", "Ann")
        self.page.click("dialog button.primary")
        self.notice("Saved ann@example.com")
        user = self.find(email="ann@example.com")
        self.assertEqual(user["displayName"], "Ann")
        self.assertTrue(user["disabled"])
        self.assertTrue(user["emailVerified"])
        self.assertEqual(user["customAttributes"], '{"level":2}')

    def test_link_to_reset_a_password(self):
        self.make(email="ann@example.com", password="secret1")
        self.open_account("ann@example.com")
        self.page.click("dialog button", "Make a link")
        self.page.wait("document.querySelector('dialog output')?.textContent.includes('oobCode=')")
        self.page.key("Escape")

    def test_sign_out_everywhere(self):
        self.make(email="ann@example.com", password="secret1")
        before = self.find(email="ann@example.com").get("validSince")
        self.open_account("ann@example.com")
        self.page.click("dialog button", "Sign out everywhere")
        self.notice("All sessions of ann@example.com were ended")
        self.page.key("Escape")
        self.assertNotEqual(self.find(email="ann@example.com").get("validSince"), None)
        del before

    def test_delete_asks_for_the_address(self):
        self.make(email="ann@example.com")
        self.open_account("ann@example.com")
        self.page.click("dialog button", "Delete…")
        self.dialog("Delete this account?")
        self.page.fill("dialog input", "ann@example.com")
        self.page.click("dialog button.danger")
        self.notice("Deleted ann@example.com")
        self.page.wait_text("There are no accounts yet")

    def test_hostile_names_are_text(self):
        self.make(email="ann@example.com", displayName=HOSTILE)
        self.open(screen="accounts")
        self.page.wait_text(HOSTILE, "table")
        self.assertEqual(self.page.evaluate("document.querySelectorAll('#main img').length"), 0)


class Client:
    """A realtime client: enough to be connected and to listen."""

    def __init__(self, server, path):
        self.socket = socket.create_connection(("127.0.0.1", server.port))
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall((
            f"GET /.ws?v=5&ns=default HTTP/1.1\r\nHost: {server.address}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n").encode())
        self.send({"t": "d", "d": {"r": 1, "a": "auth", "b": {"cred": ANN}}})
        self.send({"t": "d", "d": {"r": 2, "a": "q", "b": {"p": path, "h": ""}}})

    def send(self, message):
        text = json.dumps(message).encode()
        assert len(text) < 65536
        head = bytes([0x81, 0x80 | len(text)]) if len(text) < 126 else bytes([0x81, 0xFE]) + len(text).to_bytes(2, "big")
        self.socket.sendall(head + bytes(4) + text)

    def is_ended(self):
        self.socket.settimeout(600)
        while True:
            try:
                if not self.socket.recv(65536):
                    return True
            except ConnectionError:
                return True

    def close(self):
        self.socket.close()


class Connections(ConsoleCase):
    def test_who_is_connected_and_to_what(self):
        client = Client(self.server, "/rooms/kitchen")
        self.addCleanup(client.close)
        self.open(screen="connections")
        self.page.wait_text("ann", "table")
        self.page.wait_text("/rooms/kitchen", "table")
        self.page.wait_text("administrator", "table")
        self.page.fill("input[type=search]", "kitchen")
        self.page.wait_text("1 shown")

    def test_end_a_connection(self):
        client = Client(self.server, "/list")
        self.addCleanup(client.close)
        self.open(screen="connections")
        self.page.fill("input[type=search]", "/list")
        self.page.wait_text("1 shown")
        self.page.click("table button", "End")
        self.dialog("ann from 127.0.0.1")
        self.page.click("dialog button.danger")
        self.assertTrue(client.is_ended())
        self.page.wait_text("0 shown")

    def test_sorting(self):
        self.open(screen="connections")
        self.page.wait_text("administrator", "table")
        self.page.click("thead button", "Backlog")
        self.page.wait("document.querySelector('thead th:nth-child(6)').ariaSort === 'descending'")
        self.page.click("thead button", "Backlog")
        self.page.wait("document.querySelector('thead th:nth-child(6)').ariaSort === 'ascending'")


class Profile(ConsoleCase):
    def test_sums_up_operations(self):
        self.open(screen="profile")
        self.page.click("button", "Start")
        self.page.wait_text("Watching default")
        for number in range(5):
            self.server.put(f"/list/-JhLeOlGIEjaIOFHR0x{number}", number)
        self.page.wait_text("/list/*", "table")
        self.page.wait("[...document.querySelectorAll('tbody tr')].some((r) => r.cells[0].textContent === '/list/*' && r.cells[2].textContent === '5')")
        self.page.click("button", "Stop")
        self.page.wait_text("Not watching")

    def test_shows_what_has_no_index(self):
        self.server.request("PUT", "/.settings/rules.json", {"rules": {".read": True, ".write": True}})
        self.server.put("/many", {f"k{i}": {"n": i} for i in range(50)})
        self.open(screen="profile")
        self.page.click("button", "Start")
        self.page.wait_text("Watching default")
        self.server.request("GET", '/many.json?orderBy="n"&limitToFirst=2', token="owner")
        self.page.wait_text("/many", "table")


class History(ConsoleCase):
    def test_commits_with_values_before_and_after(self):
        self.server.put("/seats", 12)
        self.server.request("PUT", f"/seats.json?auth={ANN}", 11, token=None)
        self.open("seats", screen="history")
        self.page.wait_text("2 commits shown", "#main")
        cells = self.page.evaluate("[...document.querySelectorAll('tbody tr')].map((r) => [...r.cells].slice(2).map((c) => c.textContent))")
        self.assertEqual(cells[0], ["ann", "/seats", "12", "11"])
        self.assertEqual(cells[1][3], "12")

    def test_values_before_come_from_changes_above_and_below(self):
        self.server.put("/room", {"seats": 12, "name": "Blue"})
        self.server.put("/room/seats", 11)
        self.server.put("/room/door/open", True)
        self.server.put("/room", None)
        self.open("room", screen="history")
        self.page.wait_text("4 commits shown", "#main")
        before = self.page.evaluate("[...document.querySelectorAll('tbody tr')].map((r) => r.cells[4].textContent)")
        self.assertEqual(before, ['{"door":{"open":true},"name":"Blue","seats":11}', "null", "12", "not in what is shown"])

    def test_pages(self):
        for number in range(60):
            self.server.put("/count", number)
        self.open("count", screen="history")
        self.page.wait_text("50 commits shown")
        self.page.click("button", "Older")
        self.page.wait_text("60 commits shown")

    def test_hostile_values_are_text(self):
        self.server.put(f"/{HOSTILE}".replace("<", "%3C"), None)
        self.server.put("/hostile", {HOSTILE: HOSTILE})
        self.open("hostile", screen="history")
        self.page.wait_text("<img src=x", "table")
        self.assertEqual(self.page.evaluate("document.querySelectorAll('#main img').length"), 0)

    def test_nothing_was_committed(self):
        self.open("nowhere", screen="history")
        self.page.wait_text("Nothing was committed here")


class Backups(ConsoleCase):
    def test_make_check_and_download(self):
        self.server.put("/data", {"x": "y" * 100_000})
        self.open(screen="backups")
        self.page.wait("document.querySelector('.status').textContent")
        self.page.click("button", "Back up now")
        self.notice("Backed up default")
        self.page.wait_text(".backup", "table")
        self.page.click("table button", "Check")
        self.page.wait_text("is whole: database default")
        self.page.evaluate("window.made = []; const make = URL.createObjectURL; URL.createObjectURL = (blob) => { made.push(blob); return make.call(URL, blob); }")
        self.page.click("table button", "Download")
        self.page.wait_text("Downloaded")
        name = self.page.evaluate("document.querySelector('tbody th').textContent")
        with open(os.path.join(self.server.folder, "data", "backups", name), "rb") as file:
            content = file.read()
        self.assertEqual(self.page.evaluate("made[0].size"), len(content))
        copy = self.page.evaluate("""made[0].arrayBuffer().then((b) => crypto.subtle.digest('SHA-256', b))
          .then((d) => [...new Uint8Array(d)].map((x) => x.toString(16).padStart(2, '0')).join(''))""")
        import hashlib
        self.assertEqual(copy, hashlib.sha256(content).hexdigest())

    def test_damage_is_found(self):
        self.server.put("/data", 1)
        self.open(screen="backups")
        self.page.click("button", "Back up now")
        self.page.wait_text(".backup", "table")
        name = self.page.evaluate("document.querySelector('tbody th').textContent")
        with open(os.path.join(self.server.folder, "data", "backups", name), "r+b") as file:
            file.truncate(20_000)
        self.page.click("table button", "Check")
        self.page.wait("document.querySelector('#notices .error')")


class LogScreen(ConsoleCase):
    def test_shows_and_filters(self):
        self.server.put("/old", 1)
        self.open(screen="log")
        self.page.wait_text("database.open", ".log")
        self.page.fill("input[type=search]", "database.open")
        self.page.wait("![...document.querySelectorAll('.log > div')].some((l) => !l.textContent.includes('database.open'))")
        self.page.fill("input[type=search]", "")
        self.page.choose("select[aria-label=Level]", "error")
        self.page.wait("document.querySelectorAll('.log > div').length === 0")
        # It goes on by itself.
        self.page.choose("select[aria-label=Level]", "info")
        self.server.put("/new", 1, database="fresh")
        self.page.wait_text("database=fresh", ".log")

    def test_hostile_lines_are_text(self):
        self.server.request("PUT", "/.settings/rules.json", {"rules": {}})
        self.server.request("GET", f"/{HOSTILE}.json", token=None)
        self.open(screen="log")
        self.page.wait_text("<img src=x", ".log")
        self.assertEqual(self.page.evaluate("document.querySelectorAll('.log img').length"), 0)


class Metrics(ConsoleCase):
    def test_charts_are_drawn_and_described(self):
        self.open(screen="metrics")
        for number in range(30):
            self.server.put("/count", number)
        self.page.wait("document.querySelectorAll('.chart').length === 15")
        self.page.wait("document.querySelector('.chart .line').getAttribute('d').includes('L')")
        labels = self.page.evaluate("[...document.querySelectorAll('.chart svg')].map((s) => s.getAttribute('aria-label'))")
        self.assertTrue(all(": now " in label or ": nothing yet" in label for label in labels), labels)
        # Times of commits are those between two looks at the figures.
        shown = "[...document.querySelectorAll('.chart svg')].some((s) => /^Commit time, 99 %: now .* ms/.test(s.getAttribute('aria-label')))"
        for number in range(3000):
            self.server.put("/count", number)
            if number % 50 == 49 and self.page.evaluate(shown):
                break
        self.page.wait(shown)
        self.page.choose("select[aria-label=Time]", "60")
        self.page.wait_text("60 min")

    def test_a_share_of_a_histogram(self):
        self.open(screen="metrics")
        shares = self.page.evaluate("""import('./metrics-page.js').then(({ quantile }) => {
          const bounds = [0.001, 0.01, 0.1];
          const before = { bounds, counts: [5, 5, 5, 5] };
          const now = { bounds, counts: [15, 15, 5, 6] };
          return [quantile(now, before, 0.25), quantile(now, before, 0.75), quantile(now, before, 1), quantile(now, now, 0.5)];
        })""")
        self.assertAlmostEqual(shares[0], 0.525)
        self.assertAlmostEqual(shares[1], 6.175)
        self.assertEqual(shares[2:], [100, None])

    def test_the_last_hour_is_there_after_a_reload(self):
        drawn = "document.querySelector('.chart .line').getAttribute('d').includes('L')"
        for _ in range(15):
            self.server.put("/count", 1)
            self.open(screen="metrics")
            self.page.wait("document.querySelector('.page [role=status]').textContent.startsWith('Up ')")
            # What is drawn before the page has looked twice is from the server, which keeps a sample every ten seconds.
            if self.page.evaluate(drawn):
                return
            self.page.wait(drawn)
        self.fail("there is nothing from before the page was opened")

    def test_a_database_that_opens_brings_no_operations(self):
        self.open(screen="metrics")
        counted = self.page.evaluate("""import('./metrics-page.js').then(({ Totals }) => {
          const each = (name, requests, sequence) => ({ name, requests, sequence, durable: sequence, held: 1, listeners: 2, resident: 3, changed: 4 });
          const totals = new Totals();
          const made = [[each('a', 1, 100)], [each('a', 3, 110), each('b', 50, 9000)], [each('b', 51, 9005)], [each('a', 1, 110), each('b', 51, 9005)]];
          return made.map((databases) => totals.of({ databases })).map((sum) => [sum.requests, sum.operations, sum.held]);
        })""")
        self.assertEqual(counted, [[0, 0, 1], [2, 10, 2], [3, 15, 1], [3, 15, 2]])

    def test_figures_go_on_behind_other_screens(self):
        self.open(screen="metrics")
        self.page.wait("document.querySelector('.chart .line').getAttribute('d')")
        self.page.click("#pages a", "Log")
        self.page.wait("document.querySelector('.log')")
        self.page.click("#pages a", "Metrics")
        self.page.wait("document.querySelector('.chart .line').getAttribute('d').split('L').length > 3")

    def test_peaks_and_gaps(self):
        self.open(screen="metrics")
        made = self.page.evaluate("""import('./chart.js').then(({ trace, niceCeiling }) => {
          const samples = [];
          for (let i = 0; i < 3600; i += 1) samples.push([i * 1000, i === 1801 ? 950 : i > 2000 && i < 2100 ? null : 10]);
          const { line, top } = trace(samples, 0, 3600_000);
          return { top, starts: line.split('M').length - 1, length: line.length,
            highest: Math.min(...line.match(/,[\\d.]+/g).map((y) => Number(y.slice(1)))), ceilings: [0, 1, 1.2, 3, 7, 11, 0.03].map(niceCeiling) };
        })""")
        self.assertEqual(made["top"], 1000)
        self.assertEqual(made["starts"], 2, "a gap is no line")
        self.assertLess(made["highest"], 20, "a peak of one second is seen")
        self.assertLess(made["length"], 30_000)
        self.assertEqual(made["ceilings"], [1, 1, 2, 5, 10, 20, 0.05])


class Settings(ConsoleCase):
    options = ("--history-hours", "7")

    def test_options_in_force(self):
        self.open(screen="settings")
        self.page.wait_text("history-hours")
        facts = self.page.evaluate("Object.fromEntries([...document.querySelectorAll('dt')].map((d) => [d.textContent, d.nextSibling.textContent]))")
        self.assertEqual(facts["history-hours"], "7")
        self.assertEqual(facts["Mode"], "development")
        self.assertRegex(facts["Version"], r"^\d+\.\d+\.\d+$")
        self.assertEqual(facts["durability"], "full")
        self.page.wait_text("default", "table")
