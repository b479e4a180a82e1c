import HearthEventLoop
import Glibc
import HearthHTTPCodec
import HearthJSONValues
import HearthSystem
import HearthTestSupport
import Testing

@testable import HearthServer
@testable import HearthAccess
@testable import HearthHTTPConnections

@Suite("The console is served")
struct ConsoleTests {
    private static let html = ["Accept: text/html,*/*;q=0.8"]

    @Test("all files of the folder are in the program, and no more than a browser loads in a moment")
    func files() throws {
        let folder =
            #filePath.split(separator: "/").dropLast(3).reduce("") { "\($0)/\($1)" } + "/Sources/CConsole/assets"
        var names: Set<String> = []
        let directory = try #require(opendir(folder))
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if !name.hasPrefix(".") { names.insert(name) }
        }
        closedir(directory)
        #expect(ConsoleFiles.names == names)
        let files = ConsoleFiles(folder: nil)
        var total = 0
        for name in names {
            let file = try #require(files[name])
            #expect(file.bytes == FileBytes.read("\(folder)/\(name)"), "\(name)")
            total += file.bytes.count
        }
        #expect(total < 250_000)
        #expect(files[""]?.bytes == files["index.html"]?.bytes)
        #expect(files["../CConsole.h"] == nil)
        #expect(files["nothing.js"] == nil)
    }

    @Test("files have a tag, and clients that have them are not sent them again")
    func tags() throws {
        let client = try RealtimeTestServer().connectREST()
        let plain = try client.ask("GET", "/console/main.js")
        #expect(plain.status == 200)
        #expect(plain.field("content-encoding") == nil)
        let packed = try client.ask("GET", "/console/main.js", ["Accept-Encoding: br;q=1, gzip"])
        #expect(packed.field("content-encoding") == "gzip")
        #expect(packed.field("vary") == "Accept-Encoding")
        #expect(packed.body.count < plain.body.count)
        #expect(packed.field("etag") != plain.field("etag"))
        #expect(try client.ask("GET", "/console/main.js", ["Accept-Encoding: gzip;q=0"]).body == plain.body)
        let tag = try #require(plain.field("etag"))
        for field in [tag, "\"x\", W/\(tag)", "*"] {
            let known = try client.ask("GET", "/console/main.js", ["If-None-Match: \(field)"])
            #expect(known.status == 304)
            #expect(known.body.isEmpty)
            #expect(known.field("etag") == tag)
        }
        #expect(try client.ask("GET", "/console/main.js", ["If-None-Match: \"x\""]).status == 200)
        #expect(try client.ask("PUT", "/console/main.js", [], "1").status == 405)
    }

    @Test("nothing but its own files gets into the page, and no other page has it")
    func policy() throws {
        let client = try RealtimeTestServer().connectREST()
        for path in ["/console", "/console/", "/console/main.js", "/console/session", "/console/nothing"] {
            let answer = try client.ask("GET", path)
            let policy = answer.field("content-security-policy") ?? ""
            #expect(policy.hasPrefix("default-src 'none'; script-src 'self';"), "\(path)")
            #expect(policy.contains("frame-ancestors 'none'"))
            #expect(!policy.contains("unsafe"))
            #expect(answer.field("referrer-policy") == "no-referrer")
            #expect(answer.field("x-content-type-options") == "nosniff")
            #expect(answer.field("access-control-allow-origin") == nil)
        }
        // Answers after it on the same connection are for pages again.
        #expect(try client.ask("GET", "/a.json").field("access-control-allow-origin") == "*")
    }

    @Test("in development mode it is for this machine alone, whatever the options name")
    func loopbackOnly() throws {
        let server = try RealtimeTestServer {
            $0.developmentAccess = DevelopmentAccess(hosts: "hearth.test", origins: "https://app.test")!
        }
        let client = try server.connectREST()
        #expect(try client.ask("GET", "/a.json", ["Origin: https://app.test"]).status == 200)
        #expect(try client.ask("GET", "/console/", ["Origin: https://app.test"]).status == 403)
        #expect(try client.ask("GET", "/console/", ["Origin: http://localhost:3000"]).status == 200)
    }

    @Test("browsers are led to it, and told where data is; programs see what they always saw")
    func guide() throws {
        let client = try RealtimeTestServer().connectREST()
        let root = try client.ask("GET", "/", Self.html)
        #expect(root.status == 302)
        #expect(root.field("location") == "/console/")
        let page = try client.ask("GET", "/rooms/kitchen", Self.html)
        #expect(page.status == 404)
        #expect(page.text.contains("/rooms/kitchen.json"))
        #expect(try client.ask("GET", "/rooms/kitchen").text.contains("error"))
        #expect(try client.ask("GET", "/.json", Self.html).text == "null")
    }

    @Test("in production it is where administrators are answered, and nowhere else")
    func production() throws {
        let folder = TemporaryFolder()
        let rules = folder.path + "/rules.json"
        try PrivateFile.replace(rules, with: Array(#"{"rules":{}}"#.utf8))
        let server = try RealtimeTestServer {
            $0.isDevelopment = false
            $0.rulesFile = rules
            $0.adminAddress = .loopback(port: 0)
        }
        let (all, administrators) = (try server.connectREST(), try server.connectAdminREST())
        for path in ["/console", "/console/", "/console/main.js", "/console/session"] {
            #expect(try all.ask("GET", path).status == 404, "\(path)")
            #expect(try administrators.ask("GET", path).status == 200, "\(path)")
        }
        #expect(
            try administrators.ask("GET", "/console/session").text == #"{"development":false,"database":"default"}"#)
        #expect(try administrators.ask("GET", "/", Self.html).status != 302)
    }

    @Test("data below /console is data")
    func data() throws {
        let client = try RealtimeTestServer().connectREST()
        #expect(try client.ask("PUT", "/console/main.json", [], "5").status == 200)
        #expect(try client.ask("GET", "/console.json").text == #"{"main":5}"#)
    }
}
