/// The cost of each setting for the writes that it concerns: new children of 64 collections, many in flight.
///
/// Each case has its own server in each round, with only that setting. Settings for other places, and for children
/// without the relevant members, should cost nothing.
struct AdditionsBenchmark {
    /// How much more CPU time a write may cost where settings concern other places.
    private static let unusedMax = 1.02

    private struct Case {
        var title: String
        /// The contents of the settings file.
        var settings: String?

        static func collection(_ title: String, _ settings: String) -> Case {
            Case(title: title, settings: #"{"bench":{"$c":{"list":{\#(settings)}}}}"#)
        }

        static let all = [
            Case(title: "no settings"),
            Case(
                title: "settings of other places",
                settings: """
                    {"other":{"$c":{".count":{"of":"list","into":"count"},"list":{".unique":"id",".maxChildren":1000,\
                    ".expires":"until",".index":[["name","id"]],".limit":{"of":"write","rate":"1000/s"},\
                    ".history":"1d"}}}}
                    """),
            collection("expiry of children without a time", #"".expires":"until""#),
            Case(title: "a count", settings: #"{"bench":{"$c":{".count":{"of":"list","into":"count"}}}}"#),
            Case(
                title: "a sum", settings: #"{"bench":{"$c":{".sum":{"of":"list","value":"id","into":"sum"}}}}"#),
            collection("a unique value", #"".unique":"id""#),
            collection("an index of two values", #"".index":[["name","id"]]"#),
            collection("a time of expiry", #"".expires":{"since":"id","after":4000000000000}"#),
            collection("a maximum of 100, the first dropped", #"".maxChildren":{"count":100,"drop":"first"}"#),
            collection("a rate", #"".limit":{"of":"write","by":"address","rate":"10000000/s"}"#),
            collection("a history", #"".history":"forever""#),
            collection(
                "a trigger whose condition is false",
                #""$k":{".trigger":{"name":"t","on":"created","when":"newData.child('ok').val() === false","url":"https://receiver.invalid/"}}"#
            ),
        ]
    }

    let stage: Stage

    func results() throws(BenchError) -> [BenchResult] {
        let settings = stage.settings
        guard settings.url == nil else { throw BenchError("additions needs a server of its own, not --url") }
        var measurements = Case.all.map { _ in [Measurement]() }
        for round in 0..<settings.rounds {
            // None always comes first.
            let order = Array(Case.all.enumerated())
            for (index, one) in round.isMultiple(of: 2) ? order : order.reversed() {
                measurements[index].append(try measure(one))
            }
        }
        return [
            BenchResult(
                benchmark: "additions",
                title: "new children, \(settings.connections) connections, \(settings.inFlight) in flight each",
                parameters: [
                    ("object", "60 bytes"), ("durability", settings.durability), ("rounds", "\(settings.rounds)"),
                    ("seconds", Numeral.fixed(settings.seconds, 0)),
                ],
                runs: zip(Case.all, measurements).map { .init(target: $0.title, unit: "writes", rounds: $1) },
                findings: (1..<Case.all.count).map { index in
                    .ratio(
                        "CPU time per write, \(Case.all[index].title) over \(Case.all[0].title)", measurements[index],
                        over: measurements[0], index == 1 ? .atMost(Self.unusedMax) : nil
                    ) { $0.cpuPerMillion ?? 0 }
                })
        ]
    }

    private func measure(_ one: Case) throws(BenchError) -> Measurement {
        let folder = try TemporaryFolder(in: stage.settings.folder)
        let file = one.settings.map { (folder.path + "/settings.json", #"{"settings":\#($0)}"#) }
        if let (path, text) = file { try TextFile.write(text, to: path) }
        let actor = try stage.server(hearthSettings: file?.0)
        defer { actor.leave() }
        let load = try WebSocketLoad(actor.target)
        try load.open(stage.settings.connections)
        var probe = UsageProbe(actor.target)
        var requests = RequestLoad(load, NewChildren(), inFlight: stage.settings.inFlight)
        return try requests.run(.seconds(stage.settings.seconds, warmUp: stage.settings.warmUp), &probe)
    }
}

/// Sets new children of one collection for each connection, in the order of their keys.
struct NewChildren: RequestSource {
    private var frame = FrameTemplate(
        """
        {"t":"d","d":{"r":##########,"a":"p","b":{"p":"/bench/####/list/##########",\
        "d":\(SmallObject.text(number: "##########"))}}}
        """)
    let reply = ReplyShape(data: #""""#, hasContent: true)

    mutating func append(_ index: Int, connection: Int, to output: inout [UInt8]) {
        frame.fill(0, number: RequestNumber.base + index)
        frame.fill(1, number: ObjectSets.keyBase + connection)
        frame.fill(2, number: RequestNumber.base + index)
        frame.fill(3, number: RequestNumber.base + index)
        output.append(contentsOf: frame.bytes)
    }
}
