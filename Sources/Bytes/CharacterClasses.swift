extension UInt8 {
    /// A decimal digit in ASCII.
    @inlinable package var isDigit: Bool { self >= UInt8(ascii: "0") && self <= UInt8(ascii: "9") }

    /// A letter in ASCII.
    @inlinable package var isLetter: Bool { (self | 0x20) &- UInt8(ascii: "a") < 26 }

    /// White space between the parts of a JSON text (RFC 8259 section 2).
    @inlinable package var isJSONWhiteSpace: Bool { self == 0x20 || self == 0x0A || self == 0x0D || self == 0x09 }
}
