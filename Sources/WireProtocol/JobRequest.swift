package import HearthJSONTree

/// A worker's request to a queue (Protocol.md 18.4), with times in milliseconds. `claim` is the number of the claim by
/// which it has a job.
package enum JobRequest: Hashable, Sendable {
    package enum Retry: Hashable, Sendable {
        case later
        case after(Int64)
        case never
    }

    /// `jr`
    case claim(count: Int, lease: Int64?, wait: Int64)
    /// `jx`
    case extend(Key, claim: Int64, lease: Int64?)
    /// `jd`; with writes that go in the same commit, whose targets are absolute.
    case done(Key, claim: Int64, [WireAssignment])
    /// `jf`
    case fail(Key, claim: Int64, error: [UInt8], Retry)
    /// `jb`
    case giveBack(Key, claim: Int64)

    package var action: StaticString {
        switch self {
        case .claim: "jr"
        case .extend: "jx"
        case .done: "jd"
        case .fail: "jf"
        case .giveBack: "jb"
        }
    }

    func appendBody(at queue: Path, to out: inout [UInt8]) {
        out.append(literal: #""p":"#)
        out.append(quoted: queue)
        switch self {
        case .claim(let count, let lease, let wait):
            Self.append(#","n":"#, Int64(count), to: &out)
            if let lease { Self.append(#","lease":"#, lease, to: &out) }
            if wait > 0 { Self.append(#","wait":"#, wait, to: &out) }
        case .extend(let key, let claim, let lease):
            Self.append(key, claim, to: &out)
            if let lease { Self.append(#","lease":"#, lease, to: &out) }
        case .done(let key, let claim, let writes):
            Self.append(key, claim, to: &out)
            if writes.isEmpty { break }
            out.append(literal: ",\"d\":{")
            for (number, write) in writes.enumerated() {
                if number > 0 { out.append(literal: ",") }
                out.append(quoted: write.target)
                out.append(literal: ":")
                out.append(contentsOf: write.value.bytes)
            }
            out.append(literal: "}")
        case .fail(let key, let claim, let error, let retry):
            Self.append(key, claim, to: &out)
            out.append(literal: #","error":"#)
            JSONText.appendQuoted(error, to: &out)
            switch retry {
            case .later: break
            case .after(let delay): Self.append(#","delay":"#, delay, to: &out)
            case .never: out.append(literal: #","dead":true"#)
            }
        case .giveBack(let key, let claim): Self.append(key, claim, to: &out)
        }
    }

    private static func append(_ key: Key, _ claim: Int64, to out: inout [UInt8]) {
        out.append(literal: #","k":"#)
        JSONText.appendQuoted(key.utf8, to: &out)
        append(#","claim":"#, claim, to: &out)
    }

    private static func append(_ name: StaticString, _ number: Int64, to out: inout [UInt8]) {
        out.append(literal: name)
        out.append(decimal: number)
    }
}
