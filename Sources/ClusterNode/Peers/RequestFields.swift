import HearthJSONTree
import HearthTreeText
import HearthRealtimeDatabase

/// The requests that have to reach the owner of a database, as bytes.
///
/// ```
/// operation  = 0 flags:byte hash:bytes write                    set; 1: it has a hash to compare with, 2: it echoes
///            | 1 base:bytes count:n write…                      update
///            | 2 count:n write…                                 on-disconnect writes
///            | 3 path:bytes                                     no such writes at and below a place
///            | 4 | 5                                            forfeit; the connection has ended
///            | 6 flags:byte path:bytes value:bytes              children of a place, in one text; flags as of a write
///            | 7 queue:bytes job                                what a worker asks
/// job        = 0 count:n lease                                a claim, which does not wait
///            | 1 key:bytes claim:n lease                      a longer lease
///            | 2 key:bytes claim:n count:n write…             done
///            | 3 key:bytes claim:n error:bytes retry          failed
///            | 4 key:bytes claim:n                            not begun
/// lease      = 0 | milliseconds:n + 1
/// retry      = 0 | 1 | milliseconds:n + 2                     as long as the queue says; never
/// write      = flags:byte path:bytes value:bytes                1: of the priority, 2: with server values, 4: quiet
/// ```
/// Quiet writes make no events of triggers. Nodes of earlier builds make the events.
extension MessageWriter {
    /// - precondition: the operation must reach the owner.
    mutating func add(_ operation: HearthRealtimeDatabase.Operation, isQuiet: Bool) {
        switch operation {
        case .set(let target, let value, let expected, let echoes):
            add(byte: 0)
            add(byte: (expected == nil ? 0 : 1) | (echoes ? 2 : 0))
            add(expected ?? [])
            add(target, value, isQuiet: isQuiet)
        case .update(let base, let entries):
            add(byte: 1)
            add(base.encoded)
            add(UInt64(entries.count))
            for entry in entries { add(entry.target, entry.value, isQuiet: isQuiet) }
        case .onDisconnect(let entries):
            add(byte: 2)
            add(UInt64(entries.count))
            for entry in entries { add(entry.target, entry.value) }
        case .cancelOnDisconnect(let path):
            add(byte: 3)
            add(path.encoded)
        case .setChildren(let base, let children):
            add(byte: 6)
            add(WriteTarget(path: base), children, isQuiet: isQuiet)
        case .job(let queue, let job):
            add(byte: 7)
            add(queue.encoded)
            add(job)
        case .forfeit: add(byte: 4)
        case .disconnect: add(byte: 5)
        default: preconditionFailure("a request that every node does itself")
        }
    }

    private mutating func add(_ job: JobOperation) {
        switch job {
        case .claim(let count, let lease, _):
            add(byte: 0)
            add(UInt64(count))
            add(lease.map { UInt64($0) + 1 } ?? 0)
        case .extend(let key, let claim, let lease):
            add(byte: 1, key, claim)
            add(lease.map { UInt64($0) + 1 } ?? 0)
        case .done(let key, let claim, let entries):
            add(byte: 2, key, claim)
            add(UInt64(entries.count))
            for entry in entries { add(entry.target, entry.value) }
        case .fail(let key, let claim, let error, let retry):
            add(byte: 3, key, claim)
            add(error)
            switch retry {
            case .later: add(UInt64(0))
            case .never: add(UInt64(1))
            case .after(let delay): add(UInt64(delay) + 2)
            }
        case .giveBack(let key, let claim): add(byte: 4, key, claim)
        }
    }

    private mutating func add(byte kind: UInt8, _ key: Key, _ claim: Int64) {
        add(byte: kind)
        add(Path([key]).encoded)
        add(UInt64(bitPattern: claim))
    }

    private mutating func add(_ target: WriteTarget, _ value: IncomingValue, isQuiet: Bool = false) {
        add(byte: (target.isPriority ? 1 : 0) | (value.hasServerValues ? 2 : 0) | (isQuiet ? 4 : 0))
        add(target.path.encoded)
        add(value.json.bytes)
    }
}

extension MessageReader {
    mutating func operation() throws(MalformedMessage) -> HearthRealtimeDatabase.Operation {
        switch try byte() {
        case 0:
            let flags = try byte()
            let expected = try slice()
            let write = try write()
            return .set(
                write.target, write.value, expecting: flags & 1 == 0 ? nil : expected, echoes: flags & 2 != 0)
        case 1:
            let base = try path()
            return .update(base: base, try writes())
        case 2: return .onDisconnect(try writes())
        case 3: return .cancelOnDisconnect(try path())
        case 4: return .forfeit
        case 5: return .disconnect
        case 6:
            let write = try write()
            return .setChildren(write.target.path, write.value)
        case 7: return .job(try path(), try job())
        default: throw MalformedMessage()
        }
    }

    private mutating func job() throws(MalformedMessage) -> JobOperation {
        let kind = try byte()
        if kind == 0 { return .claim(count: try smallNumber(), lease: try lease(), wait: .none) }
        guard let key = try path().lastKey else { throw MalformedMessage() }
        let claim = Int64(bitPattern: try number())
        switch kind {
        case 1: return .extend(key, claim: claim, lease: try lease())
        case 2: return .done(key, claim: claim, try writes())
        case 3:
            let error = try slice()
            switch try smallNumber() {
            case 0: return .fail(key, claim: claim, error: error, .later)
            case 1: return .fail(key, claim: claim, error: error, .never)
            case let delay: return .fail(key, claim: claim, error: error, .after(Int64(delay) - 2))
            }
        case 4: return .giveBack(key, claim: claim)
        default: throw MalformedMessage()
        }
    }

    private mutating func lease() throws(MalformedMessage) -> Int64? {
        let number = try smallNumber()
        return number == 0 ? nil : Int64(number) - 1
    }

    private mutating func smallNumber() throws(MalformedMessage) -> Int {
        guard let number = Int(exactly: try number()) else { throw MalformedMessage() }
        return number
    }

    private mutating func writes() throws(MalformedMessage) -> [(target: WriteTarget, value: IncomingValue)] {
        var writes: [(target: WriteTarget, value: IncomingValue)] = []
        for _ in 0..<(try number()) { writes.append(try write()) }
        return writes
    }

    private mutating func write() throws(MalformedMessage) -> (target: WriteTarget, value: IncomingValue) {
        let flags = try byte()
        hasQuietWrites = hasQuietWrites || flags & 4 != 0
        let target = WriteTarget(path: try path(), isPriority: flags & 1 != 0)
        // The other node has made it canonical; it is trusted as this one is.
        return (target, IncomingValue(json: CanonicalJSON(trusted: try slice()), hasServerValues: flags & 2 != 0))
    }

    mutating func path() throws(MalformedMessage) -> Path {
        guard let path = Path(validatingEncoded: try slice()) else { throw MalformedMessage() }
        return path
    }
}
