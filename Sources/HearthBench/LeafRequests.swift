/// Records of ten leaves each, as many as are asked for.
enum Records {
    static let leavesPerRecord = 10
    /// Keys are `u` and eight digits.
    private static let keyBase = 10_000_000
    private static let perUpdate = 1_000
    static let value = "\(RequestNumber.base)"

    static func key(_ record: Int) -> Int { keyBase + record }

    /// Objects that together hold all records, a thousand in each.
    static func objects(leaves: Int) -> some Sequence<[UInt8]> {
        let fields = (0..<leavesPerRecord).map { #""f\#($0)":\#(value)"# }.joined(separator: ",")
        let records = leaves / leavesPerRecord
        return stride(from: 0, to: records, by: perUpdate).lazy.map { start in
            let members = (start..<min(start + perUpdate, records)).map { #""u\#(key($0))":{\#(fields)}"# }
            return Array("{\(members.joined(separator: ","))}".utf8)
        }
    }
}

/// Reads leaves of records at random.
struct LeafGets: RequestSource {
    private var frame = FrameTemplate(
        #"{"t":"d","d":{"r":##########,"a":"g","b":{"p":"/bench/records/u########/f#","q":{}}}}"#)
    private var pick = LeafPick()
    let reply = ReplyShape(data: Records.value, hasContent: true)
    let leaves: Int

    init(leaves: Int) { self.leaves = leaves }

    mutating func append(_ index: Int, connection: Int, to output: inout [UInt8]) {
        frame.fill(0, number: RequestNumber.base + index)
        pick.fill(&frame, leaves: leaves)
        output.append(contentsOf: frame.bytes)
    }
}

/// Sets leaves of records at random.
struct LeafSets: RequestSource {
    private var frame = FrameTemplate(
        #"{"t":"d","d":{"r":##########,"a":"p","b":{"p":"/bench/records/u########/f#","d":##########}}}"#)
    private var pick = LeafPick()
    let reply = ReplyShape(data: #""""#, hasContent: true)
    let leaves: Int

    init(leaves: Int) { self.leaves = leaves }

    mutating func append(_ index: Int, connection: Int, to output: inout [UInt8]) {
        frame.fill(0, number: RequestNumber.base + index)
        pick.fill(&frame, leaves: leaves)
        frame.fill(3, number: RequestNumber.base + index)
        output.append(contentsOf: frame.bytes)
    }
}

/// Chooses the leaf of a frame whose second and third field name it.
private struct LeafPick {
    private var random = SeededPick(seed: 2)

    mutating func fill(_ frame: inout FrameTemplate, leaves: Int) {
        let leaf = random.next(below: leaves)
        frame.fill(1, number: Records.key(leaf / Records.leavesPerRecord))
        frame.fill(2, number: leaf % Records.leavesPerRecord)
    }
}
