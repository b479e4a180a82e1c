import HearthJSONWebTokens
import Testing

@Suite("Sealed texts")
struct SealingTests {
    private let key = Array(UInt8(0)..<32)

    @Test("are opened with the key, and with nothing else; a change of any byte shows")
    func changes() throws {
        for count in [0, 1, 16, 1000] {
            let text = Cryptography.randomBytes(count)
            let sealed = try Cryptography.seal(text, key: key)
            #expect(try Cryptography.open(sealed: sealed, key: key) == text)
            #expect(try Cryptography.open(sealed: sealed, key: Array(key.reversed())) == nil)
            #expect(try Cryptography.open(sealed: Array(sealed.dropLast()), key: key) == nil)
            for place in stride(from: 0, to: sealed.count, by: max(1, sealed.count / 50)) {
                var changed = sealed
                changed[place] ^= 1
                #expect(try Cryptography.open(sealed: changed, key: key) == nil)
            }
        }
        #expect(try Cryptography.seal([1], key: key) != Cryptography.seal([1], key: key), "a nonce was used twice")
    }
}
