import HearthBytes
import HearthJSONValues

/// The two documents in which public keys are published (accounts.md 6).
package enum KeyDocuments {
    package static func jwks(_ keys: [SigningKey]) -> [UInt8] {
        let keys = keys.compactMap { key -> JSONValue? in
            guard let modulus = key.verificationKey.handle.number("n"),
                let exponent = key.verificationKey.handle.number("e")
            else { return nil }
            return .object(
                JSONObject([
                    "kty": .text("RSA"), "alg": .text("RS256"), "use": .text("sig"), "kid": .text(key.id),
                    "n": .string(Base64.url.encode(modulus)), "e": .string(Base64.url.encode(exponent)),
                ]))
        }
        return JSONObject(["keys": .array(keys)]).bytes
    }

    package static func certificates(_ certificates: [(id: String, pem: [UInt8])]) -> [UInt8] {
        var object = JSONObject()
        for certificate in certificates { object[certificate.id] = .string(certificate.pem) }
        return object.bytes
    }
}
