import HearthTestSupport
import Testing

import HearthDatabaseScheduler
import HearthJSONValues
import HearthServer
import HearthTreeStorage

@Suite("The history of places") struct HistoryTests {
    /// Unsigned, as development mode takes them: `{"sub":"ada"}` and `{"sub":"bob"}`.
    private static let ada = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZGEifQ."
    private static let bob = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJib2IifQ."

    private static let settings = #"""
        {"settings":{"notes":{"$user":{".history":{"keep":"30d","read":"auth.uid === $user || root.child('staff').child(auth.uid).exists()"}}}}}
        """#

    private func keep(_ client: RESTClient, database: String = "") throws {
        let target = "/.settings/settings.json" + database
        #expect(try client.ask("PUT", target, RESTClient.owner, Self.settings).status == 200)
    }

    @Test("is read, listed, compared and restored over HTTP, by administrators and those whom the setting lets")
    func rest() throws {
        let server = try RealtimeTestServer()
        let client = try server.connectREST()
        try keep(client)
        for value in ["1", "2", "null"] {
            #expect(try client.ask("PUT", "/notes/ada/a.json?auth=\(Self.ada)", [], value).status == 200)
        }
        _ = try client.ask("PUT", "/notes/bob/a.json", [], "7")
        let past = "/notes/ada/a/.history.json"
        #expect(try client.ask("GET", past + "?seq=1", RESTClient.owner).text == "1")
        #expect(try client.ask("GET", past + "?seq=2&auth=\(Self.ada)", []).text == "2")
        #expect(try client.ask("GET", past + "?seq=4&auth=\(Self.ada)", []).text == "null")
        #expect(try client.ask("GET", past + "?at=9999999999999&auth=\(Self.ada)", []).text == "null")
        for (who, status) in [("", 401), ("&auth=\(Self.bob)", 401), ("&auth=\(Self.ada)", 200)] {
            #expect(try client.ask("GET", past + "?seq=2\(who)", []).status == status, "\(who)")
            #expect(try client.ask("GET", "/notes/ada/.history.json?limit=1\(who)", []).status == status, "\(who)")
        }
        // Above the places, only administrators.
        #expect(try client.ask("GET", "/.history.json?seq=2&auth=\(Self.ada)", []).status == 401)
        #expect(try client.ask("GET", "/.history.json?seq=2", RESTClient.owner).text == #"{"notes":{"ada":{"a":2}}}"#)
        // The expression sees the data as they are.
        #expect(try client.ask("PUT", "/staff/bob.json", RESTClient.owner, "true").status == 200)
        #expect(try client.ask("GET", past + "?seq=2&auth=\(Self.bob)", []).text == "2")

        let list = try client.ask("GET", "/notes/ada/.history.json?limit=2&auth=\(Self.ada)", []).text
        #expect(list.contains(#""seq":3"#), "\(list)")
        #expect(list.contains(#""uid":"ada""#), "\(list)")
        #expect(list.contains(#""before":2"#), "\(list)")
        #expect(
            try client.ask("GET", "/notes/ada/.history.json?fromSeq=1&toSeq=2", RESTClient.owner).text
                == #"{"from":1,"to":2,"changes":[{"path":"/a","before":1,"after":2}]}"#)
        #expect(
            try client.ask("GET", "/notes/.history.json?fromSeq=2", RESTClient.owner).text
                == #"{"from":2,"to":5,"changes":[{"path":"/ada","before":{"a":2}},{"path":"/bob","after":{"a":7}}]}"#)

        let restored = try client.ask("POST", past + "?seq=2&auth=\(Self.ada)", [])
        #expect(restored.status == 200)
        #expect(restored.text == "2")
        #expect(try client.ask("GET", "/notes/ada.json", []).text == #"{"a":2}"#)
        #expect(try client.ask("GET", past + "?seq=6", RESTClient.owner).text == "2")
        // Above the places, what no history has would be lost.
        #expect(try client.ask("POST", "/notes/.history.json?seq=2", RESTClient.owner).status == 404)
        #expect(try client.ask("GET", "/staff.json", []).text == #"{"bob":true}"#)

        #expect(try client.ask("GET", "/other/.history.json?seq=1", RESTClient.owner).status == 404)
        #expect(try client.ask("GET", past + "?seq=x", RESTClient.owner).status == 400)
        #expect(try client.ask("PUT", past, RESTClient.owner, "1").status == 405)
        #expect(try client.ask("POST", past, RESTClient.owner).status == 400)
    }

    @Test("is asked for by time over HTTP, and listed page by page")
    func times() throws {
        let server = try RealtimeTestServer()
        let client = try server.connectREST()
        try keep(client)
        var entries: [(sequence: Int64, time: Int64, value: Int64)] = []
        // At least two of the moments differ.
        repeat {
            let value = Int64(entries.count + 1)
            _ = try client.ask("PUT", "/notes/ada/a.json", [], "\(value)")
            let page = try JSONValue(
                parsing: Array(try client.ask("GET", "/notes/ada/.history.json?limit=1", RESTClient.owner).text.utf8))
            let entry = try #require(page.object?["entries"]?.array?.first?.object)
            entries.append((try #require(entry["seq"]?.integer), try #require(entry["time"]?.integer), value))
        } while entries.count < 3 || entries[0].time == entries[entries.count - 1].time

        let past = "/notes/ada/a/.history.json"
        func last(by time: Int64) -> (sequence: Int64, time: Int64, value: Int64)? { entries.last { $0.time <= time } }
        for entry in entries {
            let expected = try #require(last(by: entry.time))
            #expect(try client.ask("GET", "\(past)?at=\(entry.time)", RESTClient.owner).text == "\(expected.value)")
        }
        let (first, end) = (try #require(last(by: entries[0].time)), entries[entries.count - 1])
        #expect(
            try client.ask("GET", "\(past)?from=\(first.time)&to=\(end.time)", RESTClient.owner).text
                == #"{"from":\#(first.sequence),"to":\#(end.sequence),"changes":["#
                + #"{"path":"/","before":\#(first.value),"after":\#(end.value)}]}"#)
        #expect(try client.ask("POST", "\(past)?at=\(first.time)", RESTClient.owner).text == "\(first.value)")

        var found: [Int64] = []
        var page = "?limit=2"
        while true {
            let answer = try client.ask("GET", "/notes/ada/.history.json" + page, RESTClient.owner)
            let object = try #require(try JSONValue(parsing: Array(answer.text.utf8)).object)
            found += object["entries"]?.array?.compactMap { $0.object?["seq"]?.integer } ?? []
            guard let before = object["before"]?.integer else { break }
            page = "?limit=2&before=\(before)"
        }
        // The last one has restored the value.
        #expect(found == [end.sequence + 1] + entries.reversed().map(\.sequence))
    }

    @Test("is gone over HTTP for moments before it begins (410)")
    func gone() throws {
        let folder = TemporaryFolder()
        let configure: (inout ServerConfiguration) -> Void = { $0.dataFolder = folder.path }
        do {
            let client = try RealtimeTestServer(configure).connectREST()
            try keep(client)
            for value in 1...2 { _ = try client.ask("PUT", "/notes/ada/a.json", [], "\(value)") }
            #expect(try client.ask("GET", "/notes/ada/a/.history.json?seq=1", RESTClient.owner).text == "1")
        }
        _ = try Erasure("notes/ada", of: "default", in: try DataFolder(path: folder.path, durability: .full))
        let client = try RealtimeTestServer(configure).connectREST()
        let past = "/notes/ada/a/.history.json"
        #expect(try client.ask("GET", "\(past)?seq=2", RESTClient.owner).text == "2")
        for question in ["?seq=1", "?at=1", "?fromSeq=1&toSeq=2", "?from=1"] {
            #expect(try client.ask("GET", past + question, RESTClient.owner).status == 410, "\(question)")
        }
        #expect(try client.ask("POST", past + "?seq=1", RESTClient.owner).status == 410)
        #expect(try client.ask("GET", "/notes/ada/a.json", []).text == "2")
    }

    @Test("is streamed where it is too large for memory, over HTTP and over a realtime connection, as it was")
    func large() throws {
        let folder = TemporaryFolder()
        let server = try RealtimeTestServer {
            $0.dataFolder = folder.path
            $0.databaseLimits.pastBytesMax = 50_000
        }
        let client = try server.connectREST()
        try keep(client, database: "?ns=example")
        // The history begins before the values that are read.
        #expect(try client.ask("PUT", "/notes/eve.json?ns=example", [], "0").status == 200)
        #expect(try client.ask("GET", "/notes/.history.json?ns=example", RESTClient.owner).status == 200)
        let letters = ["a", "b"]
        func value(_ letter: String) -> String {
            let texts = (100..<400).map { "\"\($0)\":\"\(String(repeating: letter, count: 1000))\"" }
            return "{\(texts.joined(separator: ","))}"
        }
        for letter in letters {
            #expect(try client.ask("PUT", "/notes/ada.json?ns=example", [], value(letter)).status == 200)
            #expect(try client.ask("PUT", "/notes/bob/last.json?ns=example", [], "\"\(letter)\"").status == 200)
        }
        let past = "/notes/ada/.history.json?ns=example&format=export"
        #expect(try client.ask("GET", past + "&seq=2", RESTClient.owner).text == value("a"))
        #expect(try client.ask("GET", past + "&seq=4", RESTClient.owner).text == value("b"))
        let others = #""bob":{"last":"a"},"eve":0"#
        // Of places side by side, and of one below.
        #expect(
            try client.ask("GET", "/.history.json?ns=example&format=export&seq=4", RESTClient.owner).text
                == #"{"notes":{"ada":\#(value("b")),\#(others)}}"#)
        let part = "/notes/ada/217/.history.json?ns=example&seq=2"
        #expect(try client.ask("GET", part, RESTClient.owner).text == "\"\(String(repeating: "a", count: 1000))\"")
        #expect(try client.ask("HEAD", past + "&seq=2", RESTClient.owner).status == 200)
        #expect(try client.ask("GET", past + "&seq=2&auth=\(Self.bob)", []).status == 401)
        #expect(try client.ask("GET", past + "&seq=2&auth=\(Self.ada)", []).text == value("a"))

        let peer = try server.connect()
        _ = try peer.receiveMessage()
        try peer.send(1, "gauth", #"{"cred":"owner"}"#)
        _ = try peer.receiveMessage()
        try peer.send(2, "h", #"{"p":"/notes/ada","c":"get","seq":2}"#)
        try peer.send(3, "h", #"{"p":"/notes/bob","c":"get","seq":3}"#)
        let answers = [try peer.receiveMessage() ?? "", try peer.receiveMessage() ?? ""]
        #expect(answers.contains(#"{"t":"d","d":{"r":2,"b":{"s":"ok","d":\#(value("a"))}}}"#))
        #expect(answers.contains(#"{"t":"d","d":{"r":3,"b":{"s":"ok","d":{"last":"a"}}}}"#))
        // Nothing stays behind, once the threads that have read are done.
        try blockUntil("that no copy is left") {
            !FolderContents(folder.path).files.contains { $0.contains("past-copy") }
        }
    }

    @Test("is restored before what the same client writes later")
    func restoringInOrder() throws {
        let server = try RealtimeTestServer()
        let client = try server.connectREST()
        try keep(client, database: "?ns=example")
        for value in ["1", "2"] { _ = try client.ask("PUT", "/notes/ada/a.json?ns=example", [], value) }
        let peer = try server.connect()
        _ = try peer.receiveMessage()
        try peer.send(1, "auth", #"{"cred":"\#(Self.ada)"}"#)
        _ = try peer.receiveMessage()
        for number in 1...5 {
            try peer.send([
                #"{"t":"d","d":{"r":\#(2 * number),"a":"h","b":{"p":"/notes/ada/a","c":"restore","seq":1}}}"#,
                #"{"t":"d","d":{"r":\#(2 * number + 1),"a":"p","b":{"p":"/notes/ada/a","d":7}}}"#,
            ])
            let answer = try peer.receiveMessage() ?? ""
            #expect(answer == RealtimePeer.response(2 * number), "\(answer)")
            #expect(try peer.receiveMessage() == RealtimePeer.response(2 * number + 1))
            #expect(try client.ask("GET", "/notes/ada/a.json?ns=example", []).text == "7")
        }
        // A restore that is refused keeps nothing waiting either.
        try peer.send([
            #"{"t":"d","d":{"r":20,"a":"h","b":{"p":"/notes/bob/a","c":"restore","seq":1}}}"#,
            #"{"t":"d","d":{"r":21,"a":"p","b":{"p":"/notes/ada/a","d":8}}}"#,
        ])
        #expect(try peer.receiveMessage()?.contains(#""r":20,"b":{"s":"permission_denied""#) == true)
        #expect(try peer.receiveMessage() == RealtimePeer.response(21))
    }

    @Test("is restored within what the rules allow, and listeners are told of it")
    func restoring() throws {
        let server = try RealtimeTestServer()
        let client = try server.connectREST()
        try keep(client, database: "?ns=example")
        let rules = #"{"rules":{".read":true,"notes":{"$user":{".write":"auth.uid === $user"}}}}"#
        #expect(try client.ask("PUT", "/.settings/rules.json?ns=example", RESTClient.owner, rules).status == 200)
        for value in ["1", "2"] {
            #expect(try client.ask("PUT", "/notes/ada.json?ns=example", RESTClient.owner, value).status == 200)
        }
        let peer = try server.connect()
        _ = try peer.receiveMessage()
        try peer.send(1, "auth", #"{"cred":"\#(Self.ada)"}"#)
        _ = try peer.receiveMessage()
        try peer.send(2, "q", #"{"p":"/notes/ada","h":""}"#)
        _ = try peer.receiveMessage()
        _ = try peer.receiveMessage()
        try peer.send(3, "h", #"{"p":"/notes/ada","c":"restore","seq":1}"#)
        let push = try peer.receiveMessage() ?? ""
        #expect(push.contains(#""d":1"#), "\(push)")
        #expect(try peer.receiveMessage() == RealtimePeer.response(3))
        try peer.send(4, "h", #"{"p":"/notes/bob","c":"restore","seq":1}"#)
        #expect(try peer.receiveMessage()?.contains(#""r":4,"b":{"s":"permission_denied""#) == true)
        // Bob belongs to the staff, who may read the past of others and not write.
        #expect(try client.ask("PUT", "/staff/bob.json?ns=example", RESTClient.owner, "true").status == 200)
        try peer.send(5, "auth", #"{"cred":"\#(Self.bob)"}"#)
        _ = try peer.receiveMessage()
        try peer.send(6, "h", #"{"p":"/notes/ada","c":"get","seq":2}"#)
        #expect(try peer.receiveMessage()?.contains(#""r":6,"b":{"s":"ok","d":2}"#) == true)
        try peer.send(7, "h", #"{"p":"/notes/ada","c":"restore","seq":2}"#)
        #expect(try peer.receiveMessage()?.contains(#""r":7,"b":{"s":"permission_denied""#) == true)
        try peer.send(8, "h", #"{"p":"/notes/ada","c":"get"}"#)
        #expect(try peer.receiveMessage()?.contains(#""r":8,"b":{"s":"invalid_argument""#) == true)
        #expect(try client.ask("GET", "/notes/ada.json?ns=example", []).text == "1")
    }

    @Test("counts as read for the rates of reads, and of bytes that are read")
    func rates() throws {
        let server = try RealtimeTestServer()
        let client = try server.connectREST()
        let settings =
            #"{"settings":{"notes":{".history":{"keep":"1h","read":"true"},".limit":{"of":"read","rate":"2/d"}}}}"#
        #expect(try client.ask("PUT", "/.settings/settings.json?ns=example", RESTClient.owner, settings).status == 200)
        #expect(try client.ask("PUT", "/notes.json?ns=example", [], "1").status == 200)
        let past = "/notes/.history.json?ns=example&seq=1"
        #expect(try client.ask("GET", past, []).text == "1")
        let peer = try server.connect()
        _ = try peer.receiveMessage()
        try peer.send(1, "h", #"{"p":"/notes","c":"get","seq":1}"#)
        #expect(try peer.receiveMessage()?.contains(#""r":1,"b":{"s":"ok","d":1}"#) == true)
        try peer.send(2, "h", #"{"p":"/notes","c":"get","seq":1}"#)
        let refusal = try peer.receiveMessage() ?? ""
        #expect(refusal.contains(#""s":"permission_denied""#), "\(refusal)")
        #expect(refusal.contains(#""why":"rate""#), "\(refusal)")
        #expect(try client.ask("GET", past, []).status == 429)
        #expect(try client.ask("GET", past, RESTClient.owner).status == 200)
        let bytes = settings.replacing(#""read","rate":"2/d""#, with: #""bytesRead","rate":"1/d""#)
        #expect(try client.ask("PUT", "/.settings/settings.json?ns=example", RESTClient.owner, bytes).status == 200)
        #expect(try client.ask("GET", past, []).text == "1")
        let late = try client.ask("GET", past, [])
        #expect(late.status == 429, "\(late)")
        let seconds = late.field("retry-after").flatMap { Int($0) } ?? 0
        #expect((86_000...86_400).contains(seconds), "\(late)")
        #expect(try client.ask("GET", past, RESTClient.owner).status == 200)
    }

    @Test("continues after a restart, and ends with the setting")
    func restart() throws {
        let folder = TemporaryFolder()
        let configure: (inout ServerConfiguration) -> Void = { $0.dataFolder = folder.path + "/data" }
        do {
            let client = try RealtimeTestServer(configure).connectREST()
            try keep(client)
            _ = try client.ask("PUT", "/notes/ada.json", [], "1")
            // It begins now, if it has not yet.
            #expect(try client.ask("GET", "/notes/ada/.history.json?seq=1", RESTClient.owner).text == "1")
            _ = try client.ask("PUT", "/notes/ada.json", [], "2")
        }
        let client = try RealtimeTestServer(configure).connectREST()
        _ = try client.ask("PUT", "/notes/ada.json", [], "3")
        for number in 1...3 {
            #expect(
                try client.ask("GET", "/notes/ada/.history.json?seq=\(number)", RESTClient.owner).text == "\(number)")
        }
        _ = try client.ask("PUT", "/.settings/settings.json", RESTClient.owner, #"{"settings":{}}"#)
        #expect(try client.ask("GET", "/notes/ada/.history.json?seq=1", RESTClient.owner).status == 404)
        try keep(client)
        #expect(try client.ask("GET", "/notes/ada/.history.json?seq=3", RESTClient.owner).text == "3")
    }
}
