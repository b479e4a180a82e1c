/// Collects the bytes of a head that arrives in pieces. Holds heap memory only while a head is begun.
struct HeadCollector {
    enum Outcome {
        case incomplete
        /// The head with its empty line, and how many lines it has with that one.
        case complete([UInt8], lineCount: Int)
        case failure(HTTPFailure)
    }

    /// The bytes of the head so far: all of it was searched for the end and holds `lineCount` lines.
    private(set) var begun: [UInt8] = []
    private var lineCount = 0

    /// Takes from `input` up to the end of the head, and no byte after it. Reads each byte once, regardless of the
    /// pieces.
    mutating func take(from input: inout UnsafeRawBufferPointer, limits: HTTPLimits) -> Outcome {
        let searched = begun.count
        let room = limits.headBytesMax - searched
        let visible = UnsafeRawBufferPointer(rebasing: input[..<Swift.min(room, input.count)])
        var lines = lineCount
        let found: Search
        if searched == 0 {
            found = Self.search(visible, from: 0, lineCount: &lines)
        } else {
            begun.append(contentsOf: visible)
            found = begun.withUnsafeBytes { Self.search($0, from: searched, lineCount: &lines) }
        }
        switch found {
        case .bareLineFeed:
            return .failure(.bareLineFeed)
        case .end(let end):
            input.removeFirst(end - searched)
            guard searched > 0 else { return .complete([UInt8](visible[..<end]), lineCount: lines) }
            var head: [UInt8] = []
            swap(&head, &begun)
            lineCount = 0
            head.removeLast(head.count - end)
            return .complete(head, lineCount: lines)
        case .none:
            if searched == 0 { begun.append(contentsOf: visible) }
            lineCount = lines
            input.removeFirst(visible.count)
            if begun.count < limits.headBytesMax { return .incomplete }
            return .failure(lines == 0 ? .targetTooLong : .headTooLarge)
        }
    }

    private enum Search {
        case none
        case end(Int)
        case bareLineFeed
    }

    /// Looks at the line ends from `start` on; the bytes before it were looked at already.
    private static func search(
        _ bytes: UnsafeRawBufferPointer, from start: Int, lineCount: inout Int
    ) -> Search {
        var position = bytes.firstPosition(of: lineFeed, from: start)
        while position < bytes.count {
            guard position > 0, bytes[position - 1] == carriageReturn else { return .bareLineFeed }
            lineCount += 1
            if position >= 3, bytes[position - 2] == lineFeed { return .end(position + 1) }
            position = bytes.firstPosition(of: lineFeed, from: position + 1)
        }
        return .none
    }
}
