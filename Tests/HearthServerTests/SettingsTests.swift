import HearthTestSupport
import Testing

import HearthServer

@Suite("The settings of databases") struct SettingsTests {
    private static let unique = #"{"settings":{"users":{".unique":"name"}}}"#
    private static let text = #"Another child of "/users" has the same value at "name""#

    @Test("administrators read, try and replace them, for one database and for good; a mistake changes nothing")
    func publishing() throws {
        let folder = TemporaryFolder()
        let configure: (inout ServerConfiguration) -> Void = { $0.dataFolder = folder.path + "/data" }
        let target = "/.settings/settings.json"
        do {
            let server = try RealtimeTestServer(configure)
            let client = try server.connectREST()
            #expect(try client.ask("GET", target, RESTClient.owner).text == #"{"settings":{}}"#)
            #expect(try client.ask("PUT", target + "?dryRun=true", RESTClient.owner, Self.unique).status == 200)
            #expect(try client.ask("PUT", "/users.json", [], #"{"a":{"name":"x"},"b":{"name":"x"}}"#).status == 200)
            #expect(try client.ask("PUT", target, [], Self.unique).status == 401)
            #expect(try client.ask("POST", target, RESTClient.owner).field("allow") == "GET, HEAD, PUT, DELETE")
            #expect(try client.ask("PUT", target, RESTClient.owner, Self.unique).text == #"{"status":"ok"}"#)
            let refused = try client.ask("PUT", target, RESTClient.owner, #"{"settings":{".uniqe":1}}"#)
            #expect(refused.status == 400)
            #expect(refused.text.contains("1:14: Unknown setting"))
            #expect(try client.ask("GET", target, RESTClient.owner).text == Self.unique)
            // In use at once, for everybody, in this database only.
            #expect(try client.ask("PUT", "/users/c/name.json", [], #""y""#).status == 200)
            let conflict = try client.ask("PUT", "/users/d/name.json", RESTClient.owner, #""y""#)
            #expect(conflict.status == 409, "\(conflict.text)")
            #expect(conflict.text.contains(#"same value at \"name\""#), "\(conflict.text)")
            #expect(try client.ask("PATCH", "/users.json", [], #"{"d/name":"z","e/name":"z"}"#).status == 409)
            #expect(
                try client.ask("PUT", "/users.json?ns=other", [], #"{"a":{"name":1},"b":{"name":1}}"#).status == 200)
        }
        let server = try RealtimeTestServer(configure)
        let client = try server.connectREST()
        #expect(try client.ask("GET", target, RESTClient.owner).text == Self.unique)
        #expect(try client.ask("POST", "/users.json", [], #"{"name":"x"}"#).status == 409)
        #expect(try client.ask("POST", "/users.json", [], #"{"name":"z"}"#).status == 200)
    }

    @Test("rules and settings are replaced in one request, both or neither, for good")
    func together() throws {
        let folder = TemporaryFolder()
        let configure: (inout ServerConfiguration) -> Void = { $0.dataFolder = folder.path + "/data" }
        let target = "/.settings/rules-and-settings.json"
        let pair = #"{"rules":"{\n // Open\n\"rules\":{\".write\":true}}","settings":"\#(Self.quoted(Self.unique))"}"#
        do {
            let client = try RealtimeTestServer(configure).connectREST()
            let before = try client.ask("GET", target, RESTClient.owner).text
            #expect(before.hasSuffix(#","settings":"{\"settings\":{}}"}"#), "\(before)")
            #expect(try client.ask("PUT", target, [], pair).status == 401)
            #expect(try client.ask("DELETE", target, RESTClient.owner).field("allow") == "GET, HEAD, PUT")
            let checked = try client.ask("PUT", target + "?dryRun=true&warnings=true", RESTClient.owner, pair)
            #expect(checked.text == #"{"status":"ok","open":true}"#)
            for (wrong, message) in [
                (#"{"rules":"{\"rules\":{\n\".reed\":1}}","settings":"{\"settings\":{}}"}"#, "rules:2:1: "),
                (#"{"rules":"{\"rules\":{}}","settings":"{\"settings\":{\n\".uniqe\":1}}"}"#, "settings:2:1: "),
                (#"{"rules":"{\"rules\":{}}"}"#, "Expected the texts of both files"),
                (#"{"rules":{"rules":{}},"settings":{"settings":{}}}"#, "Expected the texts of both files"),
                (pair.dropLast() + #","more":1}"#, "Unknown member 'more'"), ("nothing", "Expected the texts"),
            ] {
                let refused = try client.ask("PUT", target, RESTClient.owner, wrong)
                #expect(refused.status == 400, "\(wrong)")
                #expect(refused.text.contains(#""error" : "\#(message)"#), "\(refused.text)")
            }
            #expect(try client.ask("GET", target, RESTClient.owner).text == before)
            #expect(try client.ask("PUT", target, RESTClient.owner, pair).text == #"{"status":"ok"}"#)
            #expect(try client.ask("GET", target, RESTClient.owner).text == pair)
        }
        let client = try RealtimeTestServer(configure).connectREST()
        #expect(try client.ask("GET", target, RESTClient.owner).text == pair)
        #expect(try client.ask("GET", "/.settings/settings.json", RESTClient.owner).text == Self.unique)
        #expect(try client.ask("GET", "/users.json").status == 401)
        #expect(try client.ask("PUT", "/users.json", [], #"{"a":{"name":"x"},"b":{"name":"x"}}"#).status == 409)
    }

    private static func quoted(_ text: String) -> String { text.replacing("\"", with: "\\\"") }

    @Test("a database gets those of the server's file back, for good")
    func removing() throws {
        let folder = TemporaryFolder()
        let (target, own) = ("/.settings/settings.json", #"{"settings":{}}"#)
        TemporaryFolder.write(Array(Self.unique.utf8), to: folder.path + "/settings.json")
        let configure: (inout ServerConfiguration) -> Void = {
            $0.dataFolder = folder.path + "/data"
            $0.settingsFile = folder.path + "/settings.json"
        }
        do {
            let server = try RealtimeTestServer(configure)
            let client = try server.connectREST()
            #expect(try client.ask("PUT", target, RESTClient.owner, own).status == 200)
            #expect(try client.ask("GET", target, RESTClient.owner).text == own)
            #expect(try client.ask("DELETE", target, []).status == 401)
            for _ in 0..<2 { #expect(try client.ask("DELETE", target, RESTClient.owner).text == #"{"status":"ok"}"#) }
            #expect(try client.ask("GET", target, RESTClient.owner).text == Self.unique)
            #expect(try client.ask("PUT", "/users.json", [], #"{"a":{"name":"x"},"b":{"name":"x"}}"#).status == 409)
        }
        let server = try RealtimeTestServer(configure)
        #expect(try server.connectREST().ask("GET", target, RESTClient.owner).text == Self.unique)
    }

    @Test("rates hold for an address over HTTP and WebSockets, and the answer says when to try again")
    func rates() throws {
        let server = try RealtimeTestServer()
        let settings = """
            {"settings":{"a":{".limit":[
              {"of":"write","by":"address","rate":"2/h"},{"of":"listen","rate":"1/h"}]}}}
            """
        do {
            let rest = try server.connectREST()
            _ = try rest.ask("PUT", "/.settings/settings.json?ns=example", RESTClient.owner, settings)
            #expect(try rest.ask("PUT", "/a.json?ns=example", [], "1").status == 200)
        }
        let peer = try server.connect()
        _ = try peer.receiveMessage()
        try peer.send(2, "p", #"{"p":"/a","d":2}"#)
        #expect(try peer.receiveMessage()?.contains(#""s":"ok""#) == true)
        try peer.send(3, "p", #"{"p":"/a","d":3}"#)
        let refused = try peer.receiveMessage() ?? ""
        #expect(
            refused.contains(#""s":"permission_denied","d":"Too many writes at \"/a\": try again in"#), "\(refused)")
        #expect(refused.contains(#""why":"rate","retry":1"#), "\(refused)")
        let rest = try server.connectREST()
        let answer = try rest.ask("PUT", "/a.json?ns=example", [], "4")
        let seconds = answer.field("retry-after").flatMap { Int($0) } ?? 0
        #expect(answer.status == 429, "\(answer.text)")
        #expect((1...1800).contains(seconds), "\(answer.text)")
        #expect(try rest.ask("PUT", "/a.json?ns=example", RESTClient.owner, "5").status == 200)
        try peer.send(4, "q", #"{"p":"/a","h":""}"#)
        _ = try peer.receiveMessage()
        #expect(try peer.receiveMessage()?.contains(#""r":4,"b":{"s":"ok""#) == true)
        try peer.send(5, "q", #"{"p":"/a/b","h":""}"#)
        #expect(try peer.receiveMessage()?.contains("Too many listeners") == true)
    }

    @Test("explanations say why the settings refuse a write that the rules allow, and nothing is written")
    func explanations() throws {
        let server = try RealtimeTestServer()
        let client = try server.connectREST()
        _ = try client.ask("PUT", "/.settings/settings.json", RESTClient.owner, Self.unique)
        _ = try client.ask("PUT", "/users.json", [], #"{"a":{"name":"x"}}"#)
        func explain(_ path: String, _ value: String, _ auth: String = "null") throws -> String {
            let question = #"{"operation":"write","path":"\#(path)","value":\#(value),"auth":\#(auth)}"#
            return try client.ask("POST", "/.settings/explain.json", RESTClient.owner, question).text
        }
        let refused = try explain("/users/b/name", #""x""#)
        let text = Self.text.replacing("\"", with: "\\\"")
        #expect(refused.contains(#""allowed":false"#), "\(refused)")
        #expect(refused.contains(#""refusal":"\#(text)""#), "\(refused)")
        #expect(refused.contains("the settings refuse it: Another child"), "\(refused)")
        let allowed = try explain("/users/b/name", #""y""#)
        #expect(allowed.contains(#""allowed":true"#), "\(allowed)")
        #expect(!allowed.contains("refusal"), "\(allowed)")
        let limits = #"{"settings":{"users":{".maxChildren":1},".count":{"of":"users","into":"count"}}}"#
        _ = try client.ask("PUT", "/.settings/settings.json", RESTClient.owner, limits)
        #expect(try explain("/users/b", "1").contains("may not have more than 1 children"))
        #expect(try explain("/count", "7").contains("The server keeps the value"))
        #expect(try explain("/users/a", "1").contains(#""allowed":true"#))
        #expect(try client.ask("GET", "/users.json").text == #"{"a":{"name":"x"}}"#)
        // What the rules deny is not held against the settings.
        _ = try client.ask("PUT", "/.settings/rules.json", RESTClient.owner, #"{"rules":{".write":"auth != null"}}"#)
        let denied = try explain("/users/b", "1")
        #expect(denied.contains(#""allowed":false"#), "\(denied)")
        #expect(!denied.contains("refusal"), "\(denied)")
        #expect(try explain("/users/b", "1", #"{"uid":"u"}"#).contains("refusal"))
    }

    @Test("totals of what was there before come by themselves, and clients see them as data that they cannot write")
    func totals() throws {
        let server = try RealtimeTestServer()
        let rest = try server.connectREST()
        _ = try rest.ask("PUT", "/rooms/a/messages.json?ns=example", [], #"{"m1":{"price":1.5},"m2":{"price":2}}"#)
        let peer = try server.connect()
        _ = try peer.receiveMessage()
        try peer.send(2, "q", #"{"p":"/rooms/a/total","h":""}"#)
        // It begins with nothing.
        _ = try peer.receiveMessage()
        let settings = """
            {"settings":{"rooms":{"$room":{
              ".count":{"of":"messages","into":"count"},".sum":{"of":"messages","value":"price","into":"total"}}}}}
            """
        _ = try rest.ask("PUT", "/.settings/settings.json?ns=example", RESTClient.owner, settings)
        #expect(try peer.receiveMessage()?.contains(#""p":"rooms/a/total","d":3.5"#) == true)
        #expect(try rest.ask("PUT", "/rooms/a/messages/m3.json?ns=example", [], #"{"price":-0.2}"#).status == 200)
        #expect(try peer.receiveMessage()?.contains(#""d":3.3"#) == true)
        #expect(try rest.ask("GET", "/rooms/a/count.json?ns=example").text == "3")
        let refused = try rest.ask("PUT", "/rooms/a/count.json?ns=example", [], "7")
        #expect(refused.status == 409, "\(refused.text)")
        #expect(refused.text.contains("The server keeps the value"), "\(refused.text)")
        try peer.send(3, "p", #"{"p":"/rooms/a/count","d":7}"#)
        #expect(try peer.receiveMessage()?.contains(#""s":"permission_denied""#) == true)
        try peer.send(4, "gauth", #"{"cred":"owner"}"#)
        _ = try peer.receiveMessage()
        try peer.send(5, "admin", #"{"c":"stats"}"#)
        let stats = try peer.receiveMessage() ?? ""
        #expect(
            stats.contains(#"{"path":"/rooms/$/total","of":"/rooms/$/messages","value":"price","state":"kept"}"#),
            "\(stats)")
    }

    @Test("data expires while nobody asks, its listeners are told, and other data stays")
    func expiry() throws {
        let server = try RealtimeTestServer()
        let rest = try server.connectREST()
        _ = try rest.ask(
            "PUT", "/.settings/settings.json?ns=example", RESTClient.owner,
            #"{"settings":{"codes":{".expires":{"since":"made","after":300}}}}"#)
        let peer = try server.connect()
        _ = try peer.receiveMessage()
        try peer.send(2, "q", #"{"p":"/codes","h":""}"#)
        _ = try peer.receiveMessage()
        let codes = #"{"a":{"made":{".sv":"timestamp"}},"b":{"made":9e15}}"#
        #expect(try rest.ask("PUT", "/codes.json?ns=example", [], codes).status == 200)
        #expect(try peer.receiveMessage()?.contains(#""p":"codes","d":{"a":"#) == true)
        #expect(try peer.receiveMessage()?.contains(#""p":"codes/a","d":null"#) == true)
        #expect(try rest.ask("GET", "/codes.json?ns=example&shallow=true").text == #"{"b":true}"#)
    }

    @Test("a client of the realtime protocol gets a denial that says why, and administrators see the duplicates")
    func realtime() throws {
        let server = try RealtimeTestServer()
        let rest = try server.connectREST()
        _ = try rest.ask("PUT", "/users.json?ns=example", [], #"{"a":{"name":"x"},"b":{"name":"x"}}"#)
        _ = try rest.ask("PUT", "/.settings/settings.json?ns=example", RESTClient.owner, Self.unique)
        let peer = try server.connect()
        _ = try peer.receiveMessage()
        try peer.send(2, "gauth", #"{"cred":"owner"}"#)
        _ = try peer.receiveMessage()
        // The children that were there before are looked at in steps between requests.
        var stats = ""
        var number = 2
        repeat {
            number += 1
            try peer.send(number, "admin", #"{"c":"stats"}"#)
            stats = try peer.receiveMessage() ?? ""
        } while stats.contains(#""state":"building""#)
        let pair = #""duplicates":[{"path":"/users","keys":["a","b"]}]"#
        #expect(stats.contains(#""path":"/users","child":"name","state":"conflicts""#), "\(stats)")
        #expect(stats.contains(pair), "\(stats)")
        try peer.send(1000, "p", #"{"p":"/users/c/name","d":"x"}"#)
        let escaped = Self.text.replacing("\"", with: "\\\"")
        let denied = #"{"t":"d","d":{"r":1000,"b":{"s":"permission_denied","d":"\#(escaped)","why":"unique"}}}"#
        let answer = try peer.receiveMessage()
        #expect(answer == denied)
        _ = try rest.ask("PUT", "/users/a/name.json?ns=example", [], #""y""#)
        repeat {
            number += 1
            try peer.send(number, "admin", #"{"c":"stats"}"#)
            stats = try peer.receiveMessage() ?? ""
        } while stats.contains(#""state":"building""#)
        #expect(stats.contains(#""state":"enforced""#), "\(stats)")
    }

    @Test("those of the server's file hold for all databases, and are read again with the rules, both or neither")
    func file() throws {
        let folder = TemporaryFolder()
        let settings = folder.path + "/settings.json"
        TemporaryFolder.write(Array(#"{"settings":{"users":{".unique":5}}}"#.utf8), to: settings)
        do {
            _ = try AccessTests.server(#"{"rules":{}}"#) { $0.settingsFile = settings }
            Issue.record("the server has started")
        } catch Server.StartError.configuration(let text) {
            #expect(text.hasPrefix("\(settings):1:33: '.unique' is the path of a child"))
        }
        TemporaryFolder.write(Array(Self.unique.utf8), to: settings)
        let served = try AccessTests.server(#"{"rules":{".read":true,".write":true}}"#) { $0.settingsFile = settings }
        let client = try served.server.connectREST()
        for database in ["a", "b"] {
            #expect(try client.ask("PUT", "/users/a/name.json?ns=\(database)", [], "1").status == 200)
            #expect(try client.ask("PUT", "/users/b/name.json?ns=\(database)", [], "1").status == 409)
        }
    }
}
