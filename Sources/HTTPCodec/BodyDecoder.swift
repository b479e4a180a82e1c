import HearthBytes

/// Finds the end of a body and hands out its bytes where they lie, for both roles (RFC 9112 6 and 7.1).
package struct BodyDecoder {
    enum Event {
        case needsMore
        case bytes(UnsafeRawBufferPointer)
        case end
        case failure(HTTPFailure)
    }

    private enum State {
        case length(Int)
        case untilClose
        case sizeStart
        case size
        case blankAfterSize
        case chunkExtension
        case lineFeedAfterSize
        case data
        case carriageReturnAfterData
        case lineFeedAfterData
        case trailerStart
        case trailerName
        case trailerValue
        case lineFeedAfterTrailer
        case lastLineFeed
        case ended
    }

    private var state: State
    /// Bytes of the body handed out, and of the chunk that is under way still to come.
    private var received = 0
    private var chunkRemaining = 0
    private var sizeDigits = 0
    /// Bytes of extensions and trailers so far.
    private var framingBytes = 0

    private init(_ state: State) { self.state = state }

    package static func length(_ count: Int) -> BodyDecoder { BodyDecoder(count == 0 ? .ended : .length(count)) }
    package static var chunked: BodyDecoder { BodyDecoder(.sizeStart) }
    static var untilClose: BodyDecoder { BodyDecoder(.untilClose) }

    /// The end of the connection is the end of this body.
    var endsWithConnection: Bool { if case .untilClose = state { true } else { false } }

    mutating func next(_ input: inout UnsafeRawBufferPointer, limits: HTTPLimits) -> Event {
        switch state {
        case .ended:
            return .end
        case .length(let remaining):
            guard !input.isEmpty else { return .needsMore }
            let bytes = take(remaining, from: &input)
            state = bytes.count == remaining ? .ended : .length(remaining - bytes.count)
            return .bytes(bytes)
        case .untilClose:
            guard !input.isEmpty else { return .needsMore }
            let bytes = take(limits.bodyBytesMax - received, from: &input)
            guard !bytes.isEmpty else { return .failure(.bodyTooLarge) }
            received += bytes.count
            return .bytes(bytes)
        default:
            return nextChunked(&input, limits: limits)
        }
    }

    private mutating func nextChunked(_ input: inout UnsafeRawBufferPointer, limits: HTTPLimits) -> Event {
        while let byte = input.first {
            if case .data = state {
                let bytes = take(chunkRemaining, from: &input)
                chunkRemaining -= bytes.count
                received += bytes.count
                if chunkRemaining == 0 { state = .carriageReturnAfterData }
                return .bytes(bytes)
            }
            input.removeFirst(1)
            do throws(HTTPFailure) {
                state = try stateAfter(byte, limits: limits)
            } catch {
                return .failure(error)
            }
            if case .ended = state { return .end }
        }
        return .needsMore
    }

    /// Everything of a chunked body but the data, byte by byte. White space is allowed before `;` only, an extension or
    /// a trailer value may hold anything but control bytes, and a line ends with CRLF.
    private mutating func stateAfter(_ byte: UInt8, limits: HTTPLimits) throws(HTTPFailure) -> State {
        switch (state, byte) {
        case (.sizeStart, _):
            (chunkRemaining, sizeDigits) = (0, 0)
            return try sizeDigit(byte)
        case (.size, carriageReturn), (.chunkExtension, carriageReturn):
            return .lineFeedAfterSize
        case (.size, UInt8(ascii: ";")), (.blankAfterSize, UInt8(ascii: ";")):
            try countFraming(limits)
            return .chunkExtension
        case (.size, space), (.size, horizontalTab), (.blankAfterSize, space), (.blankAfterSize, horizontalTab):
            try countFraming(limits)
            return .blankAfterSize
        case (.size, _):
            return try sizeDigit(byte)
        case (.chunkExtension, _) where byte.isText:
            try countFraming(limits)
            return .chunkExtension
        case (.lineFeedAfterSize, lineFeed):
            guard chunkRemaining <= limits.bodyBytesMax - received else { throw .bodyTooLarge }
            return chunkRemaining == 0 ? .trailerStart : .data
        case (.carriageReturnAfterData, carriageReturn): return .lineFeedAfterData
        case (.lineFeedAfterData, lineFeed): return .sizeStart
        case (.trailerStart, carriageReturn): return .lastLineFeed
        case (.trailerStart, _) where byte.isTokenByte, (.trailerName, _) where byte.isTokenByte:
            try countFraming(limits)
            return .trailerName
        case (.trailerName, UInt8(ascii: ":")):
            try countFraming(limits)
            return .trailerValue
        case (.trailerValue, carriageReturn): return .lineFeedAfterTrailer
        case (.trailerValue, _) where byte.isText:
            try countFraming(limits)
            return .trailerValue
        case (.lineFeedAfterTrailer, lineFeed): return .trailerStart
        case (.lastLineFeed, lineFeed): return .ended
        default: throw .malformedChunk
        }
    }

    /// At most 16 digits, leading zeros included.
    private mutating func sizeDigit(_ byte: UInt8) throws(HTTPFailure) -> State {
        guard let value = Hexadecimal.value(byte), sizeDigits < 16 else { throw .malformedChunk }
        guard chunkRemaining <= Int.max >> 4 else { throw .bodyTooLarge }
        chunkRemaining = chunkRemaining << 4 | Int(value)
        sizeDigits += 1
        return .size
    }

    /// One limit over all chunks: a body of tiny chunks with long extensions would cost far more than it brings.
    private mutating func countFraming(_ limits: HTTPLimits) throws(HTTPFailure) {
        framingBytes += 1
        if framingBytes > limits.headBytesMax { throw .chunkFramingTooLarge }
    }

    private func take(_ count: Int, from input: inout UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        let bytes = UnsafeRawBufferPointer(rebasing: input.prefix(count))
        input.removeFirst(bytes.count)
        return bytes
    }
}

extension UInt8 {
    /// Anything but a control byte; a tab does not count as one here.
    fileprivate var isText: Bool { self >= space && self != 0x7F || self == horizontalTab }
}
