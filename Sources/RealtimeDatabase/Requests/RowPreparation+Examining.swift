import HearthJSONTree
import HearthTreeText

extension RowPreparation {
    /// Text of values that costs as much as a row, in bytes.
    private static let bytesOfRow = 4096

    /// Counts the rows of a write, finds the places that are to be read, and sets its timestamps. Increments are set by
    /// ``resolved(_:)``; without any, no server value is left.
    func examined(_ request: Request) -> Request {
        var increments: Set<Path> = []
        let incrementsMax = request.principal.isAdministrator ? .max : rowsAtOnceMax
        let operation = request.operation.resolved { target, value in
            value.json.resolved(timestamp: now) { place in
                if increments.count <= incrementsMax { increments.insert(target.path.appending(place)) }
                return .null
            }
        }
        let (count, places) = rowsSetOneByOne(by: request.operation)
        let examined = ExaminedWrite(
            rowCount: count, increments: increments.sorted(), places: places, time: operation == nil ? nil : now,
            original: request.operation)
        return request.asking(increments.isEmpty ? operation ?? request.operation : request.operation, examined)
    }

    /// Sets the increments and timestamps of a write, whose bases are known.
    func resolved(_ request: Request) -> Request {
        guard let examined = request.examined else { return request }
        let operation = request.operation.resolved { target, value in
            value.json.resolved(timestamp: examined.time ?? now) { place in
                let base = examined.bases[target.path.appending(place)] ?? .null
                return target.isPriority ? base.priority : base
            }
        }
        return request.asking(operation ?? request.operation, examined)
    }

    /// How many rows a turn sets one by one, about, and at which places; none of these if they are too many.
    private func rowsSetOneByOne(by operation: Operation) -> (count: Int, places: [Path]) {
        var count = 0
        var places: [Path] = []
        func add(_ path: @autoclosure () -> Path, _ value: CanonicalJSON) {
            count += 1 + value.bytes.count / Self.bytesOfRow
            if !packing.fits(value) { count += value.nodeCount }
            if count <= rowsAtOnceMax { places.append(path()) }
        }
        switch operation {
        case .update(_, let entries):
            let attached = entries.firstIndex { isLarge($0.target, $0.value, bytesMin, packing) }
            for (index, (target, value)) in entries.enumerated() {
                add(target.path, index == attached ? .null : value.json)
            }
        case .setChildren(let base, let children):
            for child in children.json.children {
                var path = base.encoded
                child.appendSegment(to: &path)
                add(Path(encoded: path), children.json.part(child.value))
            }
        default: break
        }
        return (count, count <= rowsAtOnceMax ? places : [])
    }
}

extension Operation {
    /// Whether it has server values.
    package var hasServerValues: Bool {
        switch self {
        case .set(_, let value, _, _): value.hasServerValues
        case .setChildren(_, let children): children.hasServerValues
        case .update(_, let entries): entries.contains { $0.value.hasServerValues }
        default: false
        }
    }

    /// The same with other values in place of those with server values; nil if there are none.
    fileprivate func resolved(_ resolve: (WriteTarget, IncomingValue) -> CanonicalJSON) -> Operation? {
        guard hasServerValues else { return nil }
        func resolved(_ value: IncomingValue, at target: WriteTarget, keepsSent: Bool = false) -> IncomingValue {
            guard value.hasServerValues else { return value }
            var resolved = IncomingValue(json: resolve(target, value))
            resolved.sent = keepsSent ? value.json : nil
            return resolved
        }
        switch self {
        case .set(let target, let value, let expected, let echoes):
            let value = resolved(value, at: target, keepsSent: echoes)
            return .set(target, value, expecting: expected, echoes: echoes)
        case .setChildren(let base, let children):
            return .setChildren(base, resolved(children, at: WriteTarget(path: base)))
        case .update(let base, let entries):
            return .update(base: base, entries.map { ($0.target, resolved($0.value, at: $0.target)) })
        default: return nil
        }
    }
}

extension CanonicalJSON {
    /// Nodes of the value, at every depth, besides itself.
    fileprivate var nodeCount: Int {
        bytes.withUnsafeBytes { text in
            var (count, offset) = (0, 0)
            while offset < text.count {
                switch text[offset] {
                case UInt8(ascii: "\""): offset = CanonicalScan.stringEnd(text, from: offset)
                case UInt8(ascii: ":"):
                    count += 1
                    offset += 1
                default: offset += 1
                }
            }
            return count
        }
    }
}
