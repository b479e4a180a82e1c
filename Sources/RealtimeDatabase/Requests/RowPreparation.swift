import HearthJSONTree
import HearthTreeText

/// What is done for a large write on another thread, before its turn.
package struct RowPreparation: Sendable {
    package enum Step: Sendable {
        /// It is found out what the write needs (``ExaminedWrite``).
        case examining
        /// Its increments get their values, which have been read.
        case resolving
        /// Its rows are made.
        case rows
    }

    var step = Step.rows
    /// In milliseconds since 1970.
    var now: Int64 = 0
    let bytesMin: Int
    let rowsAtOnceMax: Int
    let packing: RowPacking
    let indexes: [IndexCatalog.Index]

    /// The request after this step.
    package func prepared(_ request: Request) -> Request {
        switch step {
        case .examining: examined(request)
        case .resolving: resolved(request)
        case .rows: withRows(request)
        }
    }

    /// Whether making the rows of a request's value on another thread saves the database time.
    package func isWorthIt(for request: Request) -> Bool { request.operation.largeValue(bytesMin, packing) != nil }

    /// The same request with the rows of its first large value, and their index entries. Takes time in proportion to
    /// the value.
    private func withRows(_ request: Request) -> Request {
        switch request.operation {
        case .set(let target, var value, let expected, let echoes) where isWorthIt(for: request):
            value.rows = rows(of: value.json, at: target)
            return request.asking(.set(target, value, expecting: expected, echoes: echoes))
        case .setChildren(let base, var children) where isWorthIt(for: request):
            children.rows = PreparedRows(childrenIn: children.json, packing)
            return request.asking(.setChildren(base, children))
        case .update(let base, var entries):
            guard let index = entries.firstIndex(where: { isLarge($0.target, $0.value, bytesMin, packing) }) else {
                return request
            }
            let (target, value) = entries[index]
            entries[index].value.rows = rows(of: value.json, at: target)
            return request.asking(.update(base: base, entries))
        default: return request
        }
    }

    private func rows(of value: CanonicalJSON, at target: WriteTarget) -> PreparedRows {
        let nodes = IndexTrie(indexes).concerned(byValueAt: target.path)
        let entries = nodes.map { PreparedEntries(value, $0, of: indexes) }
        return PreparedRows(value, packing, entries: entries)
    }
}

extension Operation {
    fileprivate func largeValue(_ bytesMin: Int, _ packing: RowPacking) -> CanonicalJSON? {
        switch self {
        case .set(let target, let value, _, _): isLarge(target, value, bytesMin, packing) ? value.json : nil
        case .setChildren(let base, let children):
            isLarge(WriteTarget(path: base), children, bytesMin, packing) && children.json.hasAnyChild
                ? children.json : nil
        case .update(_, let entries): entries.first { isLarge($0.target, $0.value, bytesMin, packing) }?.value.json
        default: nil
        }
    }
}

/// Server values must be known before.
func isLarge(
    _ target: WriteTarget, _ value: IncomingValue, _ bytesMin: Int, _ packing: RowPacking
) -> Bool {
    !target.isPriority && !value.hasServerValues && value.json.isLarge(bytesMin, packing)
}
