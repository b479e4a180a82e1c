import HearthServerSupport
import Glibc
import HearthClientSession
import HearthConnection
import HearthJSONTree
import HearthTestSupport
import Testing

@Suite(
    "Functions written for Firebase, on the functions framework for Python", .timeLimit(.minutes(15)),
    .enabled(
        "needs the packages functions-framework, firebase-functions and firebase-admin, in the Python that HEARTH_PYTHON names"
    ) {
        await PythonProcess.has("functions_framework", "firebase_functions", "firebase_admin")
    })
struct FunctionsFrameworkTests {
    private static let database = "example-default-rtdb"

    @Test("see the values before and after each change, and write back")
    func functions() async throws {
        let folder = TemporaryFolder()
        let settings = folder.path + "/settings.json"
        // A function's program cannot choose its own port.
        let functions = [("shout", "written"), ("count", "created"), ("changed", "updated"), ("gone", "deleted")]
        let ports = try FreePort.several(functions.count)
        let triggers = zip(functions, ports).map { function, port in
            #"{"name":"\#(function.0)","on":"\#(function.1)","url":"http://127.0.0.1:\#(port)/"}"#
        }
        let text = """
            {"settings":{"rooms":{"$room":{"messages":{"$message":{".trigger":[\(triggers.joined(separator: ","))]}}}}}}
            """
        TemporaryFolder.write(Array(text.utf8), to: settings)
        let server = try await ServerProcess(folder.path + "/data", "--settings", settings)
        let programs = try zip(functions, ports).map { function, port in
            try PythonProcess.start(
                "run_function.py", function.0, "\(port)",
                environment: ["FIREBASE_DATABASE_EMULATOR_HOST": server.address])
        }
        let clients = try TestLoop()
        let connection = try await Connection.open(server.url(Self.database), on: clients.loop, options: .persistent)
        func set(_ path: String, _ json: CanonicalJSON) async throws {
            try await connection.set(WriteTarget(path: try Path(parsing: path)), to: json)
        }
        func value(_ path: String) async throws -> CanonicalJSON {
            try await connection.get(try Path(parsing: path))
        }
        try await set("/rooms/a é/messages/m", #"{"old":true,"text":"hello"}"#)
        try await eventually("the first answer") {
            try await value("/shouted/a é/m")
                == """
                {"at":"rooms/a é/messages/m","instance":"\(Self.database)","text":"HELLO",\
                "type":"google.firebase.database.ref.v1.written"}
                """.canonical
        }
        try await set("/rooms/a é/messages/m", #"{"text":"bye"}"#)
        try await eventually("the second answer") {
            try await value("/shouted/a é/m/text") == #""BYE""#
        }
        #expect(try await value("/shouted/a é/m/was") == #"{"old":true,"text":"hello"}"#)
        try await set("/rooms/a é/messages/m/extra", #"{"deep":{"er":1}}"#)
        try await set("/rooms/a é", .null)
        try await eventually("the end") {
            try await value("/shouted/a é/m") == #"{"gone":{"extra":{"deep":{"er":1}},"text":"bye"}}"#
        }
        try await eventually("the new message") {
            try await value("/seen").children.contains { _ in true }
        }
        let seen = try await value("/seen")
        #expect(Array(seen.children).count == 1)
        #expect(seen.description.hasSuffix(#":{"old":true,"text":"hello"}}"#))
        let hello = #"{"old":true,"text":"hello"}"#
        let bye = #"{"text":"bye"}"#
        let last = #"{"extra":{"deep":{"er":1}},"text":"bye"}"#
        func noted(_ path: String, _ expected: [String]) async throws {
            try await eventually(path) { try await Array(value(path).children).count == expected.count }
            let list = try await value(path)
            #expect(list.children.map { list.part($0.value).description } == expected)
        }
        let type = "google.firebase.database.ref.v1"
        try await noted(
            "/changed/m",
            [
                #"{"after":\#(bye),"before":\#(hello),"type":"\#(type).updated"}"#,
                #"{"after":\#(last),"before":\#(bye),"type":"\#(type).updated"}"#,
            ])
        try await noted("/gone/m", [#"{"type":"\#(type).deleted","was":\#(last)}"#])
        for program in programs { program.signal(SIGKILL) }
    }
}

extension String {
    fileprivate var canonical: CanonicalJSON { CanonicalJSON(self) }
}
