package import HearthJSONValues
package import HearthJSONWebTokens

/// Key pairs that are made once for all tests.
package enum TestKeys {
    package static let first = make()
    package static let second = make()

    private static func make() -> SigningKey {
        do { return try SigningKey.make() } catch { preconditionFailure("no key: \(error)") }
    }
}

package func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

package func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

/// A JSON object from its text.
package func object(_ text: String) -> JSONObject {
    guard let object = (try? JSONValue(parsing: bytes(text)))?.object else {
        preconditionFailure("\(text) is not an object")
    }
    return object
}

/// The bytes of pairs of hexadecimal digits.
package func hex(_ digits: String) -> [UInt8] {
    let digits = Array(digits.utf8)
    return stride(from: 0, to: digits.count, by: 2).map { index in
        guard let byte = UInt8(text(Array(digits[index..<index + 2])), radix: 16) else {
            preconditionFailure("no digits")
        }
        return byte
    }
}
