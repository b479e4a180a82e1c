import HearthJSONTree
import HearthWireProtocol

/// The members of a body that only requests of workers have.
struct JobMembers {
    private var key: Key?
    private var claim: Int64?
    private var count: Int64?
    private var lease: Int64?
    private var wait: Int64?
    private var delay: Int64?
    private var error: [UInt8] = []
    private var isDead = false
    /// Tells a member of a wrong kind, so that it is never overlooked.
    private var mistake: RequestError?

    /// Bytes of an error; more are cut off.
    private static let errorBytesMax = 4096

    /// Reads a member if it is one of these. The value must be read otherwise.
    mutating func read(_ name: UnsafeRawBufferPointer, from reader: inout JSONReader) throws(JSONError) -> Bool {
        if name.equals("k") {
            guard try reader.peek() == UInt8(ascii: "\"") else { return try skip("key \"k\"", &reader) }
            let text = try reader.string()
            key = try? Key(validating: text)
            if key == nil { mistake = .missing("key \"k\"") }
        } else if name.equals("error") {
            guard try reader.peek() == UInt8(ascii: "\"") else { return try skip("text \"error\"", &reader) }
            error = try reader.string()
        } else if name.equals("dead") {
            isDead = try reader.skipValue().equals("true")
        } else if name.equals("claim") {
            claim = try number("number \"claim\"", &reader)
        } else if name.equals("n") {
            count = try number("number \"n\"", &reader)
        } else if name.equals("lease") {
            lease = try number("time \"lease\"", &reader)
        } else if name.equals("wait") {
            wait = try number("time \"wait\"", &reader)
        } else if name.equals("delay") {
            delay = try number("time \"delay\"", &reader)
        } else {
            return false
        }
        return true
    }

    private mutating func skip(_ what: String, _ reader: inout JSONReader) throws(JSONError) -> Bool {
        _ = try reader.skipValue()
        mistake = .missing(what)
        return true
    }

    /// A whole number from 0 on that JavaScript can tell.
    private mutating func number(_ what: String, _ reader: inout JSONReader) throws(JSONError) -> Int64? {
        var text = JSONReader(try reader.skipValue())
        if let number = try? text.integer(), (0...1 << 53).contains(number) { return number }
        mistake = .missing(what)
        return nil
    }

    /// Nil if the action is no worker's.
    func request(
        action: [UInt8], writes: () throws(RequestError) -> [WireAssignment]
    ) throws(RequestError) -> JobRequest? {
        guard JobRequest.actions.contains(where: { action == Array($0.action.description.utf8) }) else { return nil }
        if let mistake { throw mistake }
        if action.elementsEqual("jr".utf8) {
            guard (1...100).contains(count ?? 1) else { throw .missing("number \"n\" from 1 to 100") }
            guard (0...60_000).contains(wait ?? 0) else { throw .missing("time \"wait\" of at most 60000") }
            return .claim(count: Int(count ?? 1), lease: lease, wait: wait ?? 0)
        }
        guard let key else { throw .missing("key \"k\"") }
        guard let claim else { throw .missing("number \"claim\"") }
        switch action {
        case Array("jx".utf8): return .extend(key, claim: claim, lease: lease)
        case Array("jd".utf8): return .done(key, claim: claim, try writes())
        case Array("jb".utf8): return .giveBack(key, claim: claim)
        default:
            return .fail(
                key, claim: claim, error: Array(error.prefix(Self.errorBytesMax)),
                isDead ? .never : delay.map { .after($0) } ?? .later)
        }
    }
}
