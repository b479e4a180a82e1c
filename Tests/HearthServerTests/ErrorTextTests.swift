import Glibc
import HearthTestSupport
import Testing

@testable import HearthServer

@Suite("Errors that clients see")
struct ErrorTextTests {
    @Test("they do not tell where the server keeps its files")
    func paths() throws {
        let folder = TemporaryFolder()
        let data = folder.path + "/data"
        let server = try RealtimeTestServer { $0.dataFolder = data }
        // An unfinished restore, a foreign file, and a folder in place of a file.
        TemporaryFolder.write([], to: data + "/restored.restoring")
        TemporaryFolder.write(Array("nonsense".utf8), to: data + "/damaged.tree")
        try #require(mkdir(data + "/blocked.log", 0o700) == 0)
        try #require(mkdir(data + "/rules.rules", 0o700) == 0)
        var texts: [String] = []
        for name in ["restored", "damaged", "blocked"] {
            for (method, body) in [("GET", nil), ("PUT", "1"), ("PATCH", #"{"a":1}"#), ("POST", "1"), ("DELETE", nil)] {
                let answer = try server.connectREST().ask(
                    method, "/a.json?ns=\(name)", [], body: body.map { Array($0.utf8) })
                #expect(answer.status == 503, "\(method) \(name): \(answer.text)")
                texts.append(answer.text)
            }
            let stream = try server.connectREST().ask("GET", "/a.json?ns=\(name)", ["Accept: text/event-stream"])
            #expect(stream.status == 503)
            texts.append(stream.text)
            let peer = try server.connect("/.ws?v=5&ns=\(name)")
            _ = try peer.receiveMessage()
            for (number, (action, body)) in [
                ("g", #"{"p":"a"}"#), ("q", #"{"p":"a","h":""}"#), ("p", #"{"p":"a","d":1}"#),
            ]
            .enumerated() {
                try peer.send(number, action, body)
                let answer = try #require(try peer.receiveMessage())
                #expect(answer.contains(#""s":"unavailable""#), "\(answer)")
                texts.append(answer)
            }
        }
        let rules = try server.connectREST().ask(
            "PUT", "/.settings/rules.json?ns=rules", RESTClient.owner, #"{"rules":{}}"#)
        #expect(rules.status == 500, "\(rules.text)")
        texts.append(rules.text)
        for text in texts {
            for secret in [folder.path, "/tmp", ".tree", ".log", ".restoring", ".rules"] {
                #expect(!text.contains(secret), "\(text)")
            }
        }
    }
}
