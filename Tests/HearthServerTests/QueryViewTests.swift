import HearthJSONTree
import HearthTestSupport
import Testing
import HearthTreeStorage
import HearthWireProtocol
import HearthTreeQueries

@testable import HearthServer

/// The same queries asked over REST, listened to by tag, by events and by event streams, while somebody writes: all
/// views must agree after every commit.
@Suite("The views of a query")
struct QueryViewTests {
    /// A query in both spellings.
    struct AskedQuery {
        var object: String
        /// Where REST has it, up to the next parameter.
        var target: String
        var index: QueryIndex

        /// A query with conditions, which has one spelling.
        init(find object: String) throws {
            let query = try ConditionParser.query(Array(object.utf8))
            self.init(object: object, target: "/l/.find.json?query=\(object)&", index: query.index)
        }

        init(object: String, parameters: String, index: QueryIndex) {
            self.init(object: object, target: "/l.json?\(parameters)&", index: index)
        }

        private init(object: String, target: String, index: QueryIndex) {
            (self.object, self.target, self.index) = (object, target, index)
        }

        var hasConditions: Bool { target.hasPrefix("/l/.find.json") }

        static let all = plain + conditional.compactMap { try? AskedQuery(find: $0) }

        static let conditional = [
            #"{"where":[["x","!=",null]],"limit":null}"#,
            #"{"where":[[".value",">=",2]],"orderBy":[[".value","desc"]],"limit":2}"#,
            #"{"orderBy":[["x","desc"]],"limit":3}"#,
            #"{"where":[["or",["x","==",1],[".value","in",[2,5]]]],"orderBy":["x"],"limit":2}"#,
        ]

        static let plain = [
            AskedQuery(object: #"{"i":".key"}"#, parameters: #"orderBy="$key""#, index: .key),
            AskedQuery(
                object: #"{"i":".key","sp":"b","l":3,"vf":"l"}"#,
                parameters: #"orderBy="$key"&startAt="b"&limitToFirst=3"#,
                index: .key),
            AskedQuery(
                object: #"{"l":2,"vf":"r"}"#, parameters: #"orderBy="$priority"&limitToLast=2"#, index: .priority),
            AskedQuery(
                object: #"{"sp":1,"sin":true,"ep":2,"ein":true}"#,
                parameters: #"orderBy="$priority"&startAt=1&endAt=2"#, index: .priority),
            AskedQuery(
                object: #"{"sp":1,"sn":"[MAX_NAME]","sin":false,"l":2,"vf":"l"}"#,
                parameters: #"orderBy="$priority"&startAfter=1&limitToFirst=2"#, index: .priority),
        ]
    }

    /// What two listeners of a query have been told.
    private struct View {
        var tagged = CanonicalJSON.null
        var list: [(key: String, value: CanonicalJSON)] = []

        mutating func take(event: CanonicalJSON) throws {
            let key = Self.text(event.value(at: "k"))
            let (value, previous) = (event.value(at: "v"), event.value(at: "prev"))
            let index = list.firstIndex { $0.key == key }
            switch Self.text(event.value(at: "e")) {
            case "childRemoved": list.remove(at: try #require(index))
            case "childChanged": list[try #require(index)].value = value
            case let name:
                try #require(name == "childAdded" ? index == nil : name == "childMoved" && index != nil, "\(name)")
                if let index { list.remove(at: index) }
                var place = 0
                if !previous.isNull {
                    place = try #require(list.firstIndex { $0.key == Self.text(previous) }) + 1
                }
                list.insert((key, value), at: place)
            }
        }

        static func text(_ json: CanonicalJSON) -> String { String(decoding: json.stringUTF8 ?? [], as: UTF8.self) }
    }

    @Test("agree after every write", arguments: 0..<(4 * TestScale.factor) as Range<UInt64>)
    func agree(seed: UInt64) throws {
        let server = try RealtimeTestServer { $0.durability = .memory }
        let (peer, rest) = (try server.connect(), try server.connectREST())
        _ = try peer.receiveMessage()
        var random = SeededRandom(seed: seed)
        var views = AskedQuery.all.map { _ in View() }
        var number = 0
        for (tag, query) in AskedQuery.all.enumerated() {
            for events in ["", #","e":["childAdded","childMoved","childChanged","childRemoved"]"#] {
                number += 1
                let action = query.hasConditions ? "cq" : events.isEmpty ? "q" : "ev"
                let body = #"{"p":"/l","q":\#(query.object),"t":\#(tag)\#(events)}"#
                try peer.send(#"{"t":"d","d":{"r":\#(number),"a":"\#(action)","b":\#(body)}}"#)
                try receive(until: number, from: peer, &views)
            }
        }
        // A stream of everything, and one for each query.
        let streamed = ["/l.json?"] + AskedQuery.all.map(\.target)
        let streams = try streamed.map { try EventStreamClient("\($0)ns=example", of: server) }
        for stream in streams { #expect(try stream.next() != nil) }
        for step in 0..<60 {
            number += 1
            let request = Self.write(number, &random)
            try peer.send(request)
            try receive(until: number, from: peer, &views)
            for (query, view) in zip(AskedQuery.all, views) {
                let expected = try Self.value(query.target, isExport: true, rest)
                let place: Comment = "seed \(seed) step \(step): \(query.object) after \(request)"
                try #require(view.tagged == expected, place)
                let places = expected.children.map { (query.index.place(of: $0, in: expected), $0) }
                let ordered = places.sorted { $0.0 < $1.0 }.map { ("\($0.1.key)", expected.part($0.1.value)) }
                try #require(
                    view.list.map(\.key) == ordered.map(\.0) && view.list.map(\.value) == ordered.map(\.1), place)
            }
            for (target, stream) in zip(streamed, streams) {
                let expected = try Self.value(target, isExport: false, rest)
                // Its pushes may still be in transit; if they never come, the socket times out.
                while stream.value != expected {
                    try #require(try stream.next() != nil, "seed \(seed) step \(step): \(target) after \(request)")
                }
            }
        }
    }

    /// What a query selects, as REST has it: a page of a query with conditions has an order, which is left out here.
    private static func value(_ target: String, isExport: Bool, _ rest: RESTClient) throws -> CanonicalJSON {
        let answer = try rest.ask("GET", "\(target)\(isExport ? "format=export&" : "")ns=example")
        let value = try CanonicalJSON.parse(Array(answer.text.utf8)).value
        guard target.hasPrefix("/l/.find.json") else { return value }
        var selected = CanonicalJSON.null
        for item in value.value(at: "items").children {
            let item = value.value(at: "items").part(item.value)
            let key = try Key(validating: View.text(item.value(at: "key")))
            selected = selected.setting(item.value(at: "value"), at: Path.root.appending(key))
        }
        return selected
    }

    /// Takes pushes up to the answer to a request.
    private func receive(until number: Int, from peer: RealtimePeer, _ views: inout [View]) throws {
        while true {
            let message = try #require(try peer.receiveMessage())
            if message.hasPrefix(#"{"t":"d","d":{"r":"#) {
                return #expect(message.hasPrefix(#"{"t":"d","d":{"r":\#(number),"b":{"s":"ok""#), "\(message)")
            }
            let tag = try #require(message.firstMatch(of: /"t":([0-9]+)\}\}\}$/)?.1)
            let index = try #require(Int(tag))
            try take(message, &views[index])
        }
    }

    private func take(_ message: String, _ view: inout View) throws {
        if message.hasPrefix(#"{"t":"d","d":{"a":"ev""#) {
            let body = try CanonicalJSON.parse(Array(message.utf8)).value.value(at: "d/b")
            for event in body.value(at: "d").children {
                try view.take(event: body.value(at: "d").part(event.value))
            }
            return
        }
        let parsed = try Array(message.utf8).span.bytes.withUnsafeBytes { try ServerMessage.parse($0) }
        let assignments: [WireAssignment]
        switch parsed {
        case .push(.data(let assignment, _, _)): assignments = [assignment]
        case .push(.merge(_, let all, _, _)): assignments = all
        default: throw Unexpected(message: message)
        }
        for assignment in assignments {
            let place = try #require(assignment.target.path.suffix(after: "l"))
            view.tagged =
                assignment.target.isPriority
                ? view.tagged.settingPriority(assignment.value, at: place) ?? view.tagged
                : view.tagged.setting(assignment.value, at: place)
        }
    }

    private struct Unexpected: Error { var message: String }

    private static func write(_ number: Int, _ random: inout SeededRandom) -> String {
        func child() -> String { ["a", "b", "c", "d", "e", "7"].randomElement(using: &random) ?? "a" }
        func value() -> String {
            let priority = ["null", "1", "1", "2", "3", #""x""#].randomElement(using: &random) ?? "1"
            return [
                "null", "5", "[true]", #"{"x":1,".priority":\#(priority)}"#, #"{".value":2,".priority":\#(priority)}"#,
            ]
            .randomElement(using: &random) ?? "1"
        }
        let (action, body) =
            switch Int.random(in: 0..<8, using: &random) {
            case 0...2: ("p", #"{"p":"/l/\#(child())","d":\#(value())}"#)
            case 3: ("p", #"{"p":"/l/\#(child())/x","d":\#(value())}"#)
            case 4: ("m", #"{"p":"/l","d":{"a":\#(value()),"c/x":\#(value()),"e":\#(value())}}"#)
            case 5: ("m", #"{"p":"/l/\#(child())","d":{"x":\#(value()),"y":\#(value())}}"#)
            case 6: ("m", #"{"p":"/","d":{"l/a":\#(value()),"l/b/x":null,"l/b/y":\#(value()),"other":1}}"#)
            default:
                Int.random(in: 0..<3, using: &random) > 0
                    ? ("p", #"{"p":"/l/\#(child())","d":\#(value())}"#)
                    : ("p", #"{"p":"/l","d":{"a":\#(value()),"d":\#(value()),".priority":4}}"#)
            }
        return #"{"t":"d","d":{"r":\#(number),"a":"\#(action)","b":\#(body)}}"#
    }
}
