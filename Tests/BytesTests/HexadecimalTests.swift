import HearthBytes
import HearthTestSupport
import Testing

struct HexadecimalTests {
    @Test("each digit has its value, in either case")
    func digits() {
        for value in 0..<16 as Range<UInt8> {
            let digit = Hexadecimal.digit(value)
            #expect(Hexadecimal.value(digit) == value)
            #expect(Hexadecimal.value(digit >= UInt8(ascii: "a") ? digit - 0x20 : digit) == value)
        }
        #expect((UInt8.min...UInt8.max).filter { Hexadecimal.value($0) != nil }.count == 22)
    }

    @Test("bytes are written as two lower-case digits each")
    func encoding() {
        #expect(text(Hexadecimal.encode([0x00, 0x0F, 0xA0, 0xFF])) == "000fa0ff")
    }
}
