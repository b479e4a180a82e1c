import HearthJSONTree
import HearthTestSupport
import Testing

@testable import HearthSecurityRules

@Suite("settings of triggers")
struct TriggerSettingsTests {
    private static let secret = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX"

    private static func read(_ properties: String) throws(RulesError) -> [TriggerDefinition] {
        let file = "{\"settings\":{\"a\":{\"$k\":{\".trigger\":\(properties)}}}}"
        return try DatabaseSettings(parsing: Array(file.utf8)).triggers
    }

    @Test("are read, with the values of what is not said")
    func accepted() throws {
        let list = try Self.read(
            """
            [{"name": "ship", "on": "written", "url": "https://a.example/hook"},
             {"name": "b_2", "on": "created", "when": "newData.val() == $k", "command": "tell.sh",
              "secret": ["\(Self.secret)", "\(Self.secret)"], "binary": true, "concurrency": 64, "retry": "30d"}]
            """)
        let pattern = IndexPattern(segments: [("a" as Path).encoded, nil])
        #expect(
            list.first
                == TriggerDefinition(
                    name: "ship", pattern: pattern, kind: .written, target: .url("https://a.example/hook")))
        let second = try #require(list.last)
        #expect(list.count == 2)
        #expect(second.name == "b_2")
        #expect(second.kind == .created)
        #expect(second.filter != nil)
        #expect(second.target == .command("tell.sh"))
        #expect(second.isBinary)
        #expect(second.concurrency == 64)
        #expect(second.secrets == [Array(0..<24), Array(0..<24)])
        #expect(second.retryTime == 30 * 86_400_000)
    }

    @Test(
        "name a program of one folder: nothing that could lead out of it is taken",
        arguments: ["", ".", "..", "../sh", "/bin/sh", "a/b", "a b", "a;b", ".hidden", "a..b", "a\\u0000", "-\\n", "ä"])
    func commands(command: String) {
        let error = #expect(throws: RulesError.self) {
            try Self.read("{\"name\":\"t\",\"on\":\"created\",\"command\":\"\(command)\"}")
        }
        #expect(
            error?.description.hasSuffix(
                "'command' of '.trigger' is the name of a program in the folder of --trigger-commands.") == true)
    }

    @Test(
        "refuse addresses that nothing can be posted to",
        arguments: [
            "https://", "https:///a", "https://?a", "https://user:token@host/", "https://user@host", "https://:443/",
            "https://:0", "https://host:", "https://host:0/", "https://host:65536/", "https://host:+80/",
            "https://host:x", "https://[::1", "https://[::1]x", "ftp://host/",
        ])
    func addresses(url: String) {
        let error = #expect(throws: RulesError.self) {
            try Self.read("{\"name\":\"t\",\"on\":\"created\",\"url\":\"\(url)\"}")
        }
        #expect(error?.description.contains("'url' of '.trigger' is an address") == true)
    }

    @Test(
        "take addresses with a host",
        arguments: [
            "https://host", "http://host:8080", "https://host:443/a@b:c?d", "https://[::1]/", "http://[::1]:80?a",
        ])
    func hosts(url: String) throws {
        let read = try Self.read("{\"name\":\"t\",\"on\":\"created\",\"url\":\"\(url)\"}")
        #expect(read.map(\.target) == [.url(url)])
    }

    @Test(
        "tell the first mistake",
        arguments: [
            ("1", "'.trigger' is an object such as"), ("{}", "'.trigger' is an object such as"),
            (#"{"name":"t","on":"created"}"#, "'.trigger' is an object such as"),
            (#"{"name":"t","url":"https://a"}"#, "'.trigger' is an object such as"),
            (#"{"name":"","on":"created","url":"https://a"}"#, "'name' of '.trigger' has 1 to 64"),
            (#"{"name":"a/b","on":"created","url":"https://a"}"#, "'name' of '.trigger' has 1 to 64"),
            (#"{"name":"t","on":"changed","url":"https://a"}"#, "'on' of '.trigger' is"),
            (#"{"name":"t","on":"created","url":"file:///etc/passwd"}"#, "'url' of '.trigger' is an address"),
            (#"{"name":"t","on":"created","url":"https://a\r\nb"}"#, "'url' of '.trigger' is an address"),
            (#"{"name":"t","on":"created","url":"https://a","command":"b"}"#, "has either a 'url' or a 'command'"),
            (#"{"name":"t","on":"created","url":"https://a","secret":"x"}"#, "'secret' of '.trigger' is 'whsec_'"),
            (#"{"name":"t","on":"created","url":"https://a","secret":"whsec_AAAA"}"#, "'secret' of '.trigger' is"),
            (
                #"{"name":"t","on":"created","url":"https://a","secret":["\#(secret)","\#(secret)","\#(secret)"]}"#,
                "has at most two secrets"
            ),
            (#"{"name":"t","on":"created","url":"https://a","concurrency":65}"#, "'concurrency' of '.trigger' is"),
            (#"{"name":"t","on":"created","url":"https://a","concurrency":0}"#, "'concurrency' of '.trigger' is"),
            (#"{"name":"t","on":"created","url":"https://a","retry":"31d"}"#, "'retry' of '.trigger' is a time"),
            (#"{"name":"t","on":"created","url":"https://a","retry":"-1s"}"#, "'retry' of '.trigger' is a time"),
            (#"{"name":"t","on":"created","url":"https://a","retry":"9223372036854775807d"}"#, "'retry' of '.trigger'"),
            (#"{"name":"t","on":"created","url":"https://a","binary":1}"#, "'binary' of '.trigger' is true or false"),
            (#"{"name":"t","on":"created","url":"https://a","when":true}"#, "'when' of '.trigger' is an expression"),
            (#"{"name":"t","on":"created","url":"https://a","when":"$x == 1"}"#, "$x"),
            (#"{"name":"t","on":"created","url":"https://a","to":1}"#, "property of '.trigger'"),
            (
                #"[{"name":"t","on":"created","url":"https://a"},{"name":"t","on":"deleted","url":"https://a"}]"#,
                "There is another trigger of the name 't'"
            ),
        ] as [(String, String)])
    func mistakes(properties: String, message: String) {
        let error = #expect(throws: RulesError.self) { try Self.read(properties) }
        #expect(error?.description.contains(message) == true, "\(error?.description ?? "")")
    }
}
