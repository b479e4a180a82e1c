import HearthBytes

extension JSONParser {
    /// Reads a string, writes its canonical text with the quotes, and tells whether that text has escapes.
    @discardableResult
    mutating func parseString() throws(JSONError) -> Bool {
        let opening = offset
        // Bytes from `run` to `offset` are to be copied as they are; the quotes are copied along.
        var run = offset
        let outputStart = output.count
        var hasEscapes = false
        /// The number of bytes by which output exceeds its input.
        var surplus = 2
        offset += 1
        while true {
            offset = JSONText.endOfPlainBytes(of: input, from: offset)
            let byte = try peek()
            if byte == UInt8(ascii: "\"") {
                offset += 1
                output.append(input.part(run..<offset))
                if output.count - outputStart - surplus > limits.stringByteCount {
                    throw JSONError(.stringTooLong(limit: limits.stringByteCount), at: opening)
                }
                return hasEscapes
            }
            if byte >= 0x80 {
                let length = multibyteLength(input, at: offset)
                if length == 0 { throw JSONError(.invalidUTF8, at: offset) }
                offset += length
            } else if byte == UInt8(ascii: "\\") {
                output.append(input.part(run..<offset))
                let (isEscaped, more) = try parseEscape()
                if isEscaped { hasEscapes = true }
                surplus += more
                run = offset
            } else {
                throw JSONError(.controlCharacter(byte), at: offset)
            }
        }
    }

    /// Reads an escape and writes the character, escaped only if it must be. Gives the bytes written beyond the
    /// character's own.
    private mutating func parseEscape() throws(JSONError) -> (isEscaped: Bool, surplus: Int) {
        guard let escape = JSONEscape(input, at: offset) else { throw JSONError(.invalidEscape, at: offset) }
        offset += escape.byteCount
        let codePoint = escape.codePoint
        if codePoint < 0x80, let short = JSONText.shortEscape(UInt8(codePoint)) {
            output.append(UInt8(ascii: "\\"))
            output.append(short)
            return (true, 1)
        }
        if codePoint < 0x20 || codePoint & 0xFFFF_F800 == 0xD800 {
            output.append("\\u")
            for shift in [12, 8, 4, 0] as [UInt32] { output.append(Hexadecimal.digit(UInt8(codePoint >> shift & 15))) }
            return (true, codePoint < 0x20 ? 5 : 3)
        }
        escape.withUTF8 { output.append($0) }
        return (false, 0)
    }

    mutating func parseNumber() throws(JSONError) {
        let start = offset
        let isNegative = input[offset] == UInt8(ascii: "-")
        if isNegative { offset += 1 }
        let integerStart = offset
        let integerDigits = skipDigits()
        if integerDigits == 0, offset == input.count { throw JSONError(.unexpectedEnd, at: offset) }
        if integerDigits == 0 || integerDigits > 1 && input[integerStart] == UInt8(ascii: "0") {
            throw JSONError(.invalidNumber, at: start)
        }
        let integerEnd = offset
        var fractionDigits = 0
        if offset < input.count, input[offset] == UInt8(ascii: ".") {
            offset += 1
            fractionDigits = skipDigits()
            if fractionDigits == 0 { throw JSONError(.invalidNumber, at: start) }
        }
        if offset < input.count, input[offset] | 0x20 == UInt8(ascii: "e") {
            offset += 1
            if offset < input.count, input[offset] == UInt8(ascii: "+") || input[offset] == UInt8(ascii: "-") {
                offset += 1
            }
            if skipDigits() == 0 { throw JSONError(.invalidNumber, at: start) }
            return try writeDouble(start)
        }
        let isZero = integerDigits == 1 && input[integerStart] == UInt8(ascii: "0")
        if fractionDigits == 0 {
            if isZero {
                output.append(UInt8(ascii: "0"))
            } else if integerDigits <= 18 || JSONNumber.integer(input.part(start..<integerEnd)) != nil {
                output.append(input.part(start..<integerEnd))
            } else {
                try writeDouble(start)
            }
            return
        }
        // Up to 15 digits survive a double unchanged, so such a text is its own shortest form, but for trailing zeros.
        // Below 0.0001 the shortest form has an exponent.
        var end = offset
        while input[end - 1] == UInt8(ascii: "0") { end -= 1 }
        if integerDigits + end - integerEnd > 16 { return try writeDouble(start) }
        if input[end - 1] == UInt8(ascii: ".") {
            if isZero { output.append(UInt8(ascii: "0")) } else { output.append(input.part(start..<integerEnd)) }
        } else if isZero, end - integerEnd >= 5, input.part(integerEnd + 1..<integerEnd + 5).allSatisfy({ $0 == 0x30 })
        {
            try writeDouble(start)
        } else {
            output.append(input.part(start..<end))
        }
    }

    private mutating func skipDigits() -> Int {
        let start = offset
        while offset < input.count, input[offset] &- UInt8(ascii: "0") <= 9 { offset += 1 }
        return offset - start
    }

    /// Writes the number whose text goes from `start` to `offset`, by way of a double.
    private mutating func writeDouble(_ start: Int) throws(JSONError) {
        // More digits than this never matter (a double has at most 767 significant ones), and they are never sent.
        guard offset - start <= 1024 else { throw JSONError(.invalidNumber, at: start) }
        let text = String(decoding: input.part(start..<offset), as: UTF8.self)
        guard let value = Double(text) else { throw JSONError(.invalidNumber, at: start) }
        guard value.isFinite else { throw JSONError(.numberTooLarge, at: start) }
        switch JSONNumber(value) {
        case .integer(let integer): withDecimal(integer) { output.append($0) }
        case .double(let double):
            var text = double.description
            text.withUTF8 { output.append(UnsafeRawBufferPointer($0)) }
        }
    }
}
