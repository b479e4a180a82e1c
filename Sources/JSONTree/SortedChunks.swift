/// An element with a place in an order of bytes, which is unique in its collection.
package protocol ByteOrdered {
    var orderBytes: [UInt8] { get }
}

package enum ScanDirection: Sendable {
    case ascending
    case descending
}

/// Elements in the order of their bytes, as a list of sorted chunks of bounded size.
///
/// Finding, adding and removing cost O(log n) comparisons and the shift of one chunk. A walk sees the elements as they
/// were when it began.
package struct SortedChunks<Element: ByteOrdered> {
    /// Not empty, each sorted, in order.
    private var chunks: [[Element]] = []
    package private(set) var count = 0

    private static var chunkCountMax: Int { 256 }

    package init() {}

    /// `elements` must be in order, each once.
    package init(sorted elements: some Sequence<Element>) {
        var chunk: [Element] = []
        for element in elements {
            chunk.append(element)
            count += 1
            // Room for more, so that the first insertions split nothing.
            if chunk.count == Self.chunkCountMax / 2 {
                chunks.append(chunk)
                chunk = []
            }
        }
        if !chunk.isEmpty { chunks.append(chunk) }
    }

    package var isEmpty: Bool { count == 0 }
    package var first: Element? { chunks.first?.first }
    package var last: Element? { chunks.last?.last }
    package var elements: FlattenSequence<[[Element]]> { chunks.joined() }

    // MARK: Finding

    package func contains(_ bytes: [UInt8]) -> Bool { isElement(bytes, at: position(of: bytes)) }

    /// The element right before these bytes, which need not be those of one.
    package func predecessor(of bytes: [UInt8]) -> Element? {
        let position = position(of: bytes)
        if position.offset > 0 { return chunks[position.chunk][position.offset - 1] }
        return position.chunk > 0 ? chunks[position.chunk - 1].last : nil
    }

    /// The elements with `lower <= bytes < upper`, in either direction.
    package func walk(from lower: [UInt8], below upper: [UInt8], _ direction: ScanDirection) -> Walk {
        let start = position(of: direction == .ascending ? lower : upper)
        let bound = direction == .ascending ? upper : lower
        return Walk(chunks: chunks, chunk: start.chunk, offset: start.offset, bound: bound, direction: direction)
    }

    package struct Walk: IteratorProtocol {
        fileprivate let chunks: [[Element]]
        fileprivate var chunk: Int
        fileprivate var offset: Int
        fileprivate let bound: [UInt8]
        fileprivate let direction: ScanDirection

        package mutating func next() -> Element? {
            switch direction {
            case .ascending:
                if chunk < chunks.count, offset == chunks[chunk].count { (chunk, offset) = (chunk + 1, 0) }
                guard chunk < chunks.count else { return nil }
                let element = chunks[chunk][offset]
                guard element.orderBytes.precedesBytewise(bound) else { return nil }
                offset += 1
                return element
            case .descending:
                if offset == 0 {
                    guard chunk > 0 else { return nil }
                    chunk -= 1
                    offset = chunks[chunk].count
                }
                let element = chunks[chunk][offset - 1]
                guard !element.orderBytes.precedesBytewise(bound) else { return nil }
                offset -= 1
                return element
            }
        }
    }

    // MARK: Changing

    /// Adds an element, in the place of one with the same bytes if there is one.
    ///
    /// - returns: whether it was absent before.
    @discardableResult
    package mutating func insert(_ element: Element) -> Bool {
        let position = position(of: element.orderBytes)
        if isElement(element.orderBytes, at: position) {
            chunks[position.chunk][position.offset] = element
            return false
        }
        count += 1
        if chunks.isEmpty {
            chunks.append([element])
            return true
        }
        chunks[position.chunk].insert(element, at: position.offset)
        if chunks[position.chunk].count > Self.chunkCountMax {
            let upper = Array(chunks[position.chunk][(Self.chunkCountMax / 2)...])
            chunks[position.chunk].removeLast(upper.count)
            chunks.insert(upper, at: position.chunk + 1)
        }
        return true
    }

    /// False if there is no such element.
    @discardableResult
    package mutating func remove(_ bytes: [UInt8]) -> Bool {
        let position = position(of: bytes)
        guard isElement(bytes, at: position) else { return false }
        count -= 1
        chunks[position.chunk].remove(at: position.offset)
        if chunks[position.chunk].isEmpty {
            chunks.remove(at: position.chunk)
        } else {
            join(position.chunk)
        }
        return true
    }

    /// Removes the elements with `lower <= bytes < upper`.
    package mutating func removeAll(from lower: [UInt8], below upper: [UInt8]) {
        if chunks.isEmpty { return }
        for chunk in position(of: lower).chunk...position(of: upper).chunk {
            count -= chunks[chunk].count
            chunks[chunk].removeAll {
                !$0.orderBytes.precedesBytewise(lower) && $0.orderBytes.precedesBytewise(upper)
            }
            count += chunks[chunk].count
        }
        chunks.removeAll { $0.isEmpty }
    }

    /// Removes elements, of about `looks` that it looks at, from the chunk on that has the place of these bytes.
    /// O(looks).
    ///
    /// - returns: where to go on, or nil after the last element.
    package mutating func removeSome(
        from bytes: [UInt8], looks: Int, where predicate: (Element) -> Bool
    ) -> [UInt8]? {
        let start = position(of: bytes).chunk
        var (end, seen) = (start, 0)
        while end < chunks.count, seen < looks {
            seen += chunks[end].count
            end += 1
        }
        let next = end < chunks.count ? chunks[end][0].orderBytes : nil
        let left = SortedChunks(sorted: chunks[start..<end].joined().filter { !predicate($0) })
        if left.count < seen { chunks.replaceSubrange(start..<end, with: left.chunks) }
        count -= seen - left.count
        return next
    }

    /// Joins a chunk that became small with the one after it, so that there are never many small ones.
    private mutating func join(_ chunk: Int) {
        guard chunk + 1 < chunks.count, chunks[chunk].count + chunks[chunk + 1].count <= Self.chunkCountMax / 2 else {
            return
        }
        chunks[chunk].append(contentsOf: chunks[chunk + 1])
        chunks.remove(at: chunk + 1)
    }

    // MARK: Positions

    private typealias Position = (chunk: Int, offset: Int)

    private func isElement(_ bytes: [UInt8], at position: Position) -> Bool {
        position.chunk < chunks.count && position.offset < chunks[position.chunk].count
            && chunks[position.chunk][position.offset].orderBytes == bytes
    }

    /// Where bytes are or belong: in the last chunk that does not begin after them.
    private func position(of bytes: [UInt8]) -> Position {
        let behind = chunks.partitioningIndex { bytes.precedesBytewise($0[0].orderBytes) }
        guard behind > 0 else { return (0, 0) }
        return (behind - 1, chunks[behind - 1].partitioningIndex { !$0.orderBytes.precedesBytewise(bytes) })
    }
}

extension SortedChunks: Sendable where Element: Sendable {}

extension RandomAccessCollection where Index == Int {
    /// The position of the first element that satisfies the predicate, if all that do follow all that do not. O(log n).
    @inlinable
    package func partitioningIndex(where predicate: (Element) -> Bool) -> Int {
        var lower = startIndex
        var upper = endIndex
        while lower < upper {
            let middle = (lower + upper) / 2
            if predicate(self[middle]) { upper = middle } else { lower = middle + 1 }
        }
        return lower
    }
}
