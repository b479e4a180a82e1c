import HearthJSONTree
import HearthTreeText
import HearthTestSupport
import Testing

@Suite("Node hashes") struct NodeHashTests {
    @Test(
        "the vectors of the protocol",
        arguments: [
            ("null", ""), ("\"\"", "Ki0Xy0V6morg0TO3Sxi/jwugYDQ="), ("\"hello\"", "z6sRbrNLwbHX5fdjpvsTtWgXUFc="),
            ("\"à\"", "31pfWlkApe+5G1/vDg375CZ+I2M="), ("true", "E5z61QM0lN/U2WsOnusszCTkR8M="),
            ("false", "aSSNoqcS4oQwJ2xxH20rvpp3zP0="), ("0", "7ysMph9WPitGP7poMnMHMVPtUlI="),
            ("1", "YPVfR2bXt/lcDjiQZ8pOkAd3qkQ="), ("-1", "dMw8oUBNk57KCeIcgAKXVS2BfB0="),
            ("1.5", "4MftviR9Z/2MQCMkjh2RNbvlLJc="), ("0.1", "wtQjBi5TBE+ZcdekL6INiSeCSQI="),
            ("1700000000000", "vzg0cpxiAeqQeyjkTe0gblJSTn8="), (#"{"a":1}"#, "gIphxiFGusLh2VwSNVKSvNu90m4="),
            (#"{"a":1,"b":2}"#, "AUZnXhNqrfbznYVxcCvNpzpjvTU="),
            (#"{"1":1,"2":2,"10":3}"#, "dV5WWZayx03DluJiknH+AhECuYA="),
            ("[10,20,30]", "tMGA6pAlogHlYbSsiBcteCsl3xs="),
            (#"{"a":{".value":1,".priority":5}}"#, "frVJ9V1mlHrJvYsgG4TqbPoIXaA="),
            (#"{".value":"x",".priority":"p"}"#, "Ee+tTXV5cvjTnBMuKXMyU8fA5VY="),
            (#"{".value":"x",".priority":0}"#, "VGGsieffyDL1UOdTmRuSBa3PaLA="),
            (#"{".priority":3,"k":true}"#, "PUDTw51hlsPKPpaOldYycnbGBos="),
            (
                #"{"a":{".value":1,".priority":2},"b":{".value":1,".priority":1},"c":1}"#,
                "J7DfCO/qt23HUs/BlO6AuOtEaoo="
            ),
            (#"{"é":"ü😀"}"#, "7o8Sb/g3UlnNMC0Bv+94s8F7Aic="),
            (#"{"x":{"y":{"z":"deep"}}}"#, "vFXIb1QL1Wa/N6OOCblss0AcuIQ="),
        ])
    func vectors(text: String, hash: String) throws {
        let value = try json(text)
        #expect(String(decoding: NodeHash.hash(value), as: UTF8.self) == hash)
        #expect(NodeHash.matches(Array(hash.utf8), value))
        #expect(!NodeHash.matches(Array("x".utf8), value))
        #expect(value.isNull || !NodeHash.matches([], value))
    }

    @Test("messages of every length around the block of the digest are hashed right")
    func digests() {
        // The hash of a string leaf is that of `string:` and its text; these are OpenSSL's for so many times `a`.
        let vectors: [(Int, String)] = [
            (47, "jtSXagocxOczhkUAKSNbIjDD/Vw="), (48, "RnbCJLYMYYq50qmxyOa959MIwj0="),
            (49, "a7KB5YKcLAXHXmFl0poCmw/Xdbc="),
            (56, "hzpqPLaQYyJFEvkv33vuM61wshA="), (57, "mNDicU6vOh0eakJVyveX7B0DTeQ="),
            (58, "6UO1VqSD4nH4PoI7szfpWtkdgto="),
            (1000, "xM37pcYfwk2QxcbMqw6yZXiEc/o="),
        ]
        for (count, hash) in vectors {
            let value = CanonicalJSON(string: Array(repeating: 0x61, count: count))
            #expect(String(decoding: NodeHash.hash(value), as: UTF8.self) == hash, "\(count)")
        }
    }

    @Test("strings hash by the bytes they stand for")
    func escapes() throws {
        #expect(NodeHash.hash(try json(#""\u00e0""#)) == NodeHash.hash(try json("\"à\"")))
        #expect(NodeHash.hash(try json(#""\"""#)) != NodeHash.hash(try json(#""\\\"""#)))
        #expect(NodeHash.hash(try json(#"{"\"":1}"#)) != NodeHash.hash(try json(#"{"\\\"":1}"#)))
    }

    @Test(
        "the numbers that JavaScript clients get wrong are accepted",
        arguments: [
            (9_007_199_254_740_991, 0x4340_0000_0000_0000), (9_007_199_254_740_990, 0x434F_FFFF_FFFF_FFFF),
            (9_007_199_254_740_954, 0x434F_FFFF_FFFF_FFED), (281_474_976_710_655, 0x42FF_FFFF_FFFF_FFF0),
            (4_503_599_627_370_469, 0x433F_FFFF_FFFF_FFE5), (-9_007_199_254_740_991, 0xC340_0000_0000_0000),
            (0x1p-1000, 0x0160_0000_0000_0000), (0x1.8p-1001, 0x0160_0000_0000_0000),
            (0x1.fffffffffffffp1, 0x4010_0000_0000_0000),
        ] as [(Double, UInt64)])
    func javaScript(value: Double, bits: UInt64) throws {
        let path = try Path(parsing: "a")
        let wrong = CanonicalJSON.null.setting(try #require(CanonicalJSON(double: value)), at: path)
        // A client's wrong hash of `value` is the right hash of the number with its wrong bits.
        let other = try #require(CanonicalJSON(double: Double(bitPattern: bits)))
        let hash = NodeHash.hash(CanonicalJSON.null.setting(other, at: path))
        #expect(NodeHash.hash(wrong) != hash)
        #expect(NodeHash.hash(wrong, variant: .javaScriptNumbers) == hash)
        #expect(NodeHash.matches(hash, wrong))
    }

    @Test("all other numbers are hashed alike by JavaScript", arguments: [1, 2, 3] as [UInt64])
    func rightNumbers(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let known: [Double] = [
            9_007_199_254_740_953, 281_474_976_710_654, 0.1, 1, 2, 8, 1024, 0x1p1000, 1e21,
        ]
        let drawn = (0..<200).map { _ in Double(Int64.random(in: -1 << 47..<1 << 47, using: &random)) / 128 }
        for number in known + drawn {
            let value = try #require(CanonicalJSON(double: number))
            #expect(
                NodeHash.hash(value) == NodeHash.hash(value, variant: .javaScriptNumbers), "seed \(seed): \(number)")
        }
    }

    @Test("children with priorities throughout are accepted in Apple's order")
    func apple() throws {
        let value = try json(#"{"a":{".value":1,".priority":2},"b":{".value":1,".priority":1}}"#)
        let wrong = NodeHash.hash(value, variant: .appleOrder)
        #expect(wrong != NodeHash.hash(value))
        #expect(NodeHash.matches(wrong, value))
        for text in [
            #"{"a":{".value":1,".priority":2},"b":1}"#, #"{"a":1,"b":1}"#,
            #"{"a":{".value":1,".priority":1},"b":{".value":1,".priority":1}}"#,
        ] {
            #expect(NodeHash.hash(try json(text), variant: .appleOrder) == NodeHash.hash(try json(text)))
        }
    }

    @Test("priorities order numbers before strings, by value, and keys decide among equals")
    func priorityOrder() throws {
        // Computed with another implementation of the protocol's rule.
        let vectors = [
            (
                #"{"a":{".value":1,".priority":"b"},"b":{".value":2,".priority":"a"},"c":{".value":3,".priority":10},"#
                    + #""d":{".value":4,".priority":9},"e":5,"f":{".value":6,".priority":9}}"#,
                "+2RQtyNoSfUAFz8ipwMndmufqKw="
            ),
            (
                #"{"10":{"x":1,".priority":1.5},"9":{".value":2,".priority":"1"},"-Kx":{".value":3,".priority":-1},"#
                    + #""z":false,".priority":"p"}"#,
                "GsImoip0RP2YK2aJYQzQtxUdh+Y="
            ),
            (
                #"{"m":{".priority":"\ud83d\ude00",".value":"s"},"k":{".priority":"\uff61",".value":"\"\\\n"}}"#,
                "bc6jtp1B1Xw/fHk301DiA4gArAw="
            ),
        ]
        for (text, hash) in vectors { #expect(String(decoding: NodeHash.hash(try json(text)), as: UTF8.self) == hash) }
    }
}
