package import HearthHTTPCodec

/// Takes an event stream apart (HTML standard, section 9.2.6), in the role of the client. Lines end with LF, CRLF or
/// CR, and an event is complete at its empty line: at the CR already, where one ends it.
package struct EventStreamParser {
    /// The last `id` received, which a client sends as `Last-Event-ID` when it reconnects.
    package private(set) var lastEventID: [UInt8] = []
    /// The last `retry` received.
    package private(set) var reconnectMilliseconds: Int?

    private let eventBytesMax: Int
    private var event: [UInt8] = []
    private var data: [UInt8] = []
    private var id: [UInt8] = []
    private var hasData = false
    /// The line that is not complete.
    private var line: [UInt8] = []
    private var isFirstLine = true
    private var followsCarriageReturn = false

    /// `eventBytesMax` bounds the bytes of an event that is not complete.
    package init(eventBytesMax: Int) { self.eventBytesMax = eventBytesMax }

    /// The next complete event, or nil when more input is needed. Removes the used bytes from the front of `input`.
    /// After `.eventTooLarge`, the only error, the stream is lost: close it.
    package mutating func next(
        _ input: inout UnsafeRawBufferPointer
    ) throws(HTTPFailure) -> ServerSentEvent? {
        while !input.isEmpty {
            if followsCarriageReturn {
                followsCarriageReturn = false
                if input[0] == lineFeed {
                    input.removeFirst(1)
                    continue
                }
            }
            let end = lineEnd(in: input)
            guard end <= eventBytesMax - line.count - data.count - event.count else { throw .eventTooLarge }
            line.append(contentsOf: input[..<end])
            guard end < input.count else {
                input.removeFirst(end)
                return nil
            }
            followsCarriageReturn = input[end] == carriageReturn
            input.removeFirst(end + 1)
            if let event = endLine() { return event }
        }
        return nil
    }

    private func lineEnd(in input: UnsafeRawBufferPointer) -> Int {
        var position = input.firstByte(below: 0x0E, from: 0)
        while position < input.count, input[position] != lineFeed, input[position] != carriageReturn {
            position = input.firstByte(below: 0x0E, from: position + 1)
        }
        return position
    }

    private mutating func endLine() -> ServerSentEvent? {
        defer { line.removeAll(keepingCapacity: line.capacity <= 4096) }
        var start = 0
        if isFirstLine, line.starts(with: [0xEF, 0xBB, 0xBF]) { start = 3 }
        isFirstLine = false
        if start == line.count { return dispatch() }
        let colon = line[start...].firstIndex(of: UInt8(ascii: ":")) ?? line.endIndex
        var value = line[colon...].dropFirst()
        if value.first == space { value = value.dropFirst() }
        apply(field: line[start..<colon], value: value)
        return nil
    }

    /// Unknown fields are ignored, and comments, whose name is empty.
    private mutating func apply(field: ArraySlice<UInt8>, value: ArraySlice<UInt8>) {
        if field.elementsEqual("event".utf8) {
            event = [UInt8](value)
        } else if field.elementsEqual("data".utf8) {
            if hasData { data.append(lineFeed) }
            hasData = true
            data.append(contentsOf: value)
        } else if field.elementsEqual("id".utf8) {
            if !value.contains(0) { id = [UInt8](value) }
        } else if field.elementsEqual("retry".utf8) {
            guard !value.isEmpty, value.count <= 15, value.allSatisfy({ (0x30...0x39).contains($0) }) else { return }
            reconnectMilliseconds = value.reduce(0) { $0 * 10 + Int($1 - 0x30) }
        }
    }

    /// An event without data is not dispatched.
    private mutating func dispatch() -> ServerSentEvent? {
        lastEventID = id
        defer { (event, data, hasData) = ([], [], false) }
        return hasData ? ServerSentEvent(event: event.isEmpty ? Array("message".utf8) : event, data: data) : nil
    }
}
