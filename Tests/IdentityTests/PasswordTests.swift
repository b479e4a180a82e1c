import HearthJSONValues
import HearthBytes
import HearthIdentity
import HearthJSONWebTokens
import HearthTestSupport
import Testing

struct PasswordTests {
    private let hasher = PasswordHasher(cost: .init(logarithm: 4, blockSize: 8, rounds: 1))

    @Test("a password verifies against its hash, and no other does")
    func roundTrip() throws {
        for password in ["", "secret", "e\u{301}", "pass\0word", String(repeating: "x", count: 4096)] {
            let kept = try hasher.hash(bytes(password))
            #expect(kept.hasPrefix("$scrypt$ln=4,r=8,p=1$"))
            #expect(hasher.verify(bytes(password), against: kept) == .right(needsNewHash: false))
            #expect(hasher.verify(bytes(password + "x"), against: kept) == .wrong)
        }
        #expect(try hasher.hash(bytes("a")) != hasher.hash(bytes("a")))
        let composed = try hasher.hash(bytes("\u{e9}"))
        #expect(hasher.verify(bytes("e\u{301}"), against: composed) == .wrong)
        #expect(hasher.verify(bytes("pass"), against: try hasher.hash(bytes("pass\0word"))) == .wrong)
    }

    @Test("a password that is too long is neither hashed nor right")
    func tooLong() throws {
        let long = [UInt8](repeating: 0x78, count: PasswordHasher.passwordByteCountMax + 1)
        #expect(throws: CryptographyError("the password is too long")) { try hasher.hash(long) }
        let kept = try hasher.hash(bytes("secret"))
        #expect(hasher.verify(long, against: kept) == .wrong)
    }

    @Test("a hash of another cost verifies and asks to be made again")
    func otherCost() throws {
        let kept = try hasher.hash(bytes("secret"))
        let dearer = PasswordHasher(cost: .init(logarithm: 5, blockSize: 8, rounds: 1))
        #expect(dearer.verify(bytes("secret"), against: kept) == .right(needsNewHash: true))
        #expect(dearer.verify(bytes("Secret"), against: kept) == .wrong)
    }

    @Test(
        "what is not a hash matches nothing",
        arguments: [
            nil, "", "secret", "$scrypt$ln=4,r=8,p=1$AAAA$", "$scrypt$ln=4,r=8$AAAA$AAAA",
            "$scrypt$ln=99,r=8,p=1$AAAA$AAAA",
            "$scrypt$ln=-1,r=8,p=1$AAAA$AAAA", "$scrypt$ln=24,r=64,p=64$AAAA$AAAA", "$what$i=1$AAAA$AAAA",
            "$pbkdf2-sha256$i=0$AAAA$AAAA", "$pbkdf2-md4$i=1$AAAA$AAAA", "$sha256$o=sp$AAAA$AAAA", "$$$$",
            "$pbkdf2-hmac-sha1$i=1$AAAA$AAAA",
        ])
    func noHash(kept: String?) { #expect(hasher.verify(bytes("secret"), against: kept) == .wrong) }

    private func kept(_ head: String, salt: [UInt8], hash: [UInt8]) -> String {
        "$\(head)$\(text(Base64.url.encode(salt)))$\(text(Base64.url.encode(hash)))"
    }

    @Test("scrypt is that of RFC 7914, section 12")
    func rfc7914() {
        let hash = hex(
            "fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b3731622eaf30d92e22a3886ff109279d9830dac727afb94a83ee6d8360cbdfa2cc0640"
        )
        let kept = kept("scrypt$ln=10,r=8,p=16", salt: bytes("NaCl"), hash: hash)
        #expect(hasher.verify(bytes("password"), against: kept) == .right(needsNewHash: true))
    }

    @Test("an imported hash may need all of the memory that there is for one")
    func largestScrypt() throws {
        // Made by Python's hashlib.scrypt.
        let hash = hex("e2517fc218f7fe3abbdbe86cc9c3b0948251dceab7e5e766a69d1748f5491186")
        let kept = kept("scrypt$ln=18,r=8,p=1", salt: bytes("NaCl"), hash: hash)
        #expect(hasher.verify(bytes("password"), against: kept) == .right(needsNewHash: true))
    }

    @Test("PBKDF2 is that of RFC 6070 and RFC 7914, section 11")
    func pbkdf2() {
        let sha1 = kept(
            "pbkdf2-sha1$i=4096", salt: bytes("salt"), hash: hex("4b007901b765489abead49d926f721d065a429c1"))
        #expect(hasher.verify(bytes("password"), against: sha1) == .right(needsNewHash: true))
        let hash = hex(
            "55ac046e56e3089fec1691c22544b605f94185216dde0465e68b9d57c20dacbc49ca9cccf179b645991664b39d77ef317c71b845b1e30bd509112041d3a19783"
        )
        #expect(
            hasher.verify(bytes("passwd"), against: kept("pbkdf2-sha256$i=1", salt: bytes("salt"), hash: hash))
                == .right(needsNewHash: true))
    }

    @Test("Firebase's own scrypt gives the hash that Firebase exports")
    func firebase() throws {
        let key = try #require(
            Base64.standard.decode(
                "jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA==".utf8))
        let hash = try #require(
            Base64.standard.decode(
                "lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ==".utf8))
        let salt = try #require(Base64.standard.decode("42xEC+ixf3L2lw==".utf8))
        let kept = kept("firebase$ln=14,r=8,ss=Bw,k=\(text(Base64.url.encode(key)))", salt: salt, hash: hash)
        #expect(hasher.verify(bytes("user1password"), against: kept) == .right(needsNewHash: true))
        #expect(hasher.verify(bytes("user2password"), against: kept) == .wrong)
    }

    @Test("plain digests and keyed ones join salt and password in the order that they say")
    func digests() {
        let key = bytes("key")
        let mac = Cryptography.hmacSHA256(bytes("saltpw"), key: key)
        #expect(
            hasher.verify(bytes("pw"), against: kept("hmac-sha256$o=sp,k=a2V5", salt: bytes("salt"), hash: mac))
                == .right(needsNewHash: true))
        #expect(
            hasher.verify(bytes("pw"), against: kept("hmac-sha256$o=ps,k=a2V5", salt: bytes("salt"), hash: mac))
                == .wrong)
        let once = Cryptography.sha256(bytes("pwsalt"))
        for (rounds, hash) in [(0, once), (1, once), (2, Cryptography.sha256(once))] {
            #expect(
                hasher.verify(bytes("pw"), against: kept("sha256$i=\(rounds),o=ps", salt: bytes("salt"), hash: hash))
                    == .right(needsNewHash: true))
        }
    }
}

struct PasswordImportTests {
    private let hasher = PasswordHasher(cost: .init(logarithm: 4, blockSize: 8, rounds: 1))

    private func accepts(_ request: String, password: String, salt: [UInt8], hash: [UInt8]) throws -> Bool {
        // As the SDKs write it: Base64 of the alphabet for addresses, padded.
        func encoded(_ bytes: [UInt8]) -> [UInt8] {
            Base64.url.encode(bytes) + [UInt8](repeating: UInt8(ascii: "="), count: (3 - bytes.count % 3) % 3)
        }
        let kept = try PasswordImport(object(request)).kept(hash: encoded(hash), salt: encoded(salt))
        return hasher.verify(bytes(password), against: kept) == .right(needsNewHash: true)
    }

    @Test("hashes of the kinds that an import may name verify")
    func kinds() throws {
        let (salt, password) = (bytes("salt"), "password")
        let mac = Cryptography.hmacSHA256(bytes("passwordsalt"), key: bytes("key~~"))
        #expect(
            try accepts(
                #"{"hashAlgorithm":"HMAC_SHA256","signerKey":"a2V5fn4=","passwordHashOrder":"PASSWORD_AND_SALT"}"#,
                password: password, salt: salt, hash: mac))
        #expect(
            try accepts(
                #"{"hashAlgorithm":"SHA256","rounds":"1"}"#, password: password, salt: salt,
                hash: Cryptography.sha256(bytes("saltpassword"))))
        #expect(
            try accepts(
                #"{"hashAlgorithm":"PBKDF_SHA1","rounds":4096}"#, password: password, salt: salt,
                hash: hex("4b007901b765489abead49d926f721d065a429c1")))
        #expect(
            try accepts(
                #"{"hashAlgorithm":"STANDARD_SCRYPT","cpuMemCost":1024,"blockSize":8,"parallelization":16,"dkLen":64}"#,
                password: password, salt: bytes("NaCl"),
                hash: hex(
                    "fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b3731622eaf30d92e22a3886ff109279d9830dac727afb94a83ee6d8360cbdfa2cc0640"
                )))
    }

    @Test("without an order, keyed digests have the password first and plain ones the salt, as in Firebase")
    func defaultOrder() throws {
        let (salt, password) = (bytes("salt"), "password")
        let (saltFirst, passwordFirst) = (bytes("saltpassword"), bytes("passwordsalt"))
        func isRight(_ order: String, _ joined: [UInt8]) throws -> (keyed: Bool, plain: Bool) {
            (
                keyed: try accepts(
                    #"{"hashAlgorithm":"HMAC_SHA256","signerKey":"a2V5"\#(order)}"#, password: password, salt: salt,
                    hash: Cryptography.hmacSHA256(joined, key: bytes("key"))),
                plain: try accepts(
                    #"{"hashAlgorithm":"SHA256","rounds":1\#(order)}"#, password: password, salt: salt,
                    hash: Cryptography.sha256(joined))
            )
        }
        for order in ["", #","passwordHashOrder":null"#, #","passwordHashOrder":"UNSPECIFIED_ORDER""#] {
            #expect(try isRight(order, saltFirst) == (keyed: false, plain: true), "\(order)")
            #expect(try isRight(order, passwordFirst) == (keyed: true, plain: false), "\(order)")
        }
        for order in [#","passwordHashOrder":"SALT_AND_PASSWORD""#, #","passwordHashOrder":1"#] {
            #expect(try isRight(order, saltFirst) == (keyed: true, plain: true), "\(order)")
        }
        for order in [#","passwordHashOrder":"PASSWORD_AND_SALT""#, #","passwordHashOrder":2"#] {
            #expect(try isRight(order, passwordFirst) == (keyed: true, plain: true), "\(order)")
        }
    }

    @Test("a hash of MD5 is its hexadecimal text, as in Firebase, or its bytes")
    func md5() throws {
        let digits = "67a1e09bb1f83f5007dc119c14d663aa"  // of "saltpassword"
        let config = #"{"hashAlgorithm":"MD5","rounds":0,"passwordHashOrder":"SALT_AND_PASSWORD"}"#
        for hash in [bytes(digits), bytes(digits.uppercased()), hex(digits)] {
            #expect(try accepts(config, password: "password", salt: bytes("salt"), hash: hash))
            #expect(try !accepts(config, password: "passwort", salt: bytes("salt"), hash: hash))
            let kept = try #require(
                PasswordImport(object(config)).kept(hash: Base64.url.encode(hash), salt: bytes("c2FsdA")))
            let exported = try #require(PasswordExport(kept))
            #expect(exported.hash == Base64.standard.encode(bytes(digits)))
            #expect(exported.hashConfig == object(config))
        }
        let other = bytes(digits.replacing("67", with: "xy"))
        #expect(try PasswordImport(object(config)).kept(hash: Base64.url.encode(other), salt: []) == nil)
    }

    @Test("hashes of bcrypt verify, in all their spellings; others and expensive ones are refused")
    func bcrypt() throws {
        func kept(_ hash: String) throws -> String? {
            try PasswordImport(object(#"{"hashAlgorithm":"BCRYPT"}"#)).kept(
                hash: Base64.url.encode(bytes(hash)), salt: [])
        }
        // The first is a test vector of crypt_blowfish.
        for (password, hash) in [
            ("U*U", "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"),
            ("sécret1", "$2b$04$abcdefghijklmnopqrstuulb1Zm9aRMo8zIpU5l2zE2b/dAnXv2O6"),
            ("sécret1", "$2y$04$abcdefghijklmnopqrstuulb1Zm9aRMo8zIpU5l2zE2b/dAnXv2O6"),
        ] {
            let kept = try #require(try kept(hash))
            #expect(hasher.verify(bytes(password), against: kept) == .right(needsNewHash: true))
            for wrong in ["", "U*V", "sécret", password + "\0", password + "\0x"] {
                #expect(hasher.verify(bytes(wrong), against: kept) == .wrong)
            }
        }
        for none in [
            "", "secret", "*0", "$2b$17$abcdefghijklmnopqrstuulb1Zm9aRMo8zIpU5l2zE2b/dAnXv2O6",
            "$2b$04$abcdefghijklmnopqrstuulb1Zm9aRMo8zIpU5l2zE2b/dAnXv2O",
            "$2c$04$abcdefghijklmnopqrstuulb1Zm9aRMo8zIpU5l2zE2b/dAnXv2O6",
            "$2b$04$abcdefghijklmnopqrstu!lb1Zm9aRMo8zIpU5l2zE2b/dAnXv2O6", "$1$04$abc",
        ] {
            #expect(try kept(none) == nil)
        }
    }

    @Test("a hash of the server's own is exported as standard scrypt, and is right again where it is imported")
    func exportingOwn() throws {
        let exported = try #require(PasswordExport(try hasher.hash(bytes("secret"))))
        #expect(exported.hashConfig == PasswordExport.hashConfig(of: hasher))
        #expect(exported.hashConfig["hashAlgorithm"] == .text("STANDARD_SCRYPT"))
        let kept = try #require(PasswordImport(exported.hashConfig).kept(hash: exported.hash, salt: exported.salt))
        #expect(hasher.verify(bytes("secret"), against: kept) == .right(needsNewHash: false))
        #expect(PasswordExport.hashConfig(of: PasswordHasher(cost: .standard)) != exported.hashConfig)
        #expect(PasswordExport("nonsense") == nil)
    }

    @Test(
        "an imported hash is exported with the parameters that it came with",
        arguments: [
            #"{"hashAlgorithm":"HMAC_SHA512","signerKey":"a2V5","passwordHashOrder":"PASSWORD_AND_SALT"}"#,
            #"{"hashAlgorithm":"HMAC_MD5","signerKey":"a2V5","passwordHashOrder":"SALT_AND_PASSWORD"}"#,
            #"{"hashAlgorithm":"SHA256","rounds":3,"passwordHashOrder":"SALT_AND_PASSWORD"}"#,
            #"{"hashAlgorithm":"MD5","rounds":0,"passwordHashOrder":"PASSWORD_AND_SALT"}"#,
            #"{"hashAlgorithm":"PBKDF_SHA1","rounds":1000}"#, #"{"hashAlgorithm":"PBKDF2_SHA256","rounds":1000}"#,
            #"{"hashAlgorithm":"SCRYPT","signerKey":"a2V5","saltSeparator":"Bw==","rounds":8,"memoryCost":14}"#,
            #"{"hashAlgorithm":"STANDARD_SCRYPT","cpuMemCost":1024,"blockSize":16,"parallelization":2,"dkLen":3}"#,
        ])
    func exporting(config: String) throws {
        let parameters = try PasswordImport(object(config))
        let kept = try #require(parameters.kept(hash: bytes("AQI/"), salt: bytes("+w==")))
        let exported = try #require(PasswordExport(kept))
        #expect(text(exported.hash) == "AQI/")
        #expect(text(exported.salt) == "+w==")
        #expect(exported.hashConfig == object(config))
    }

    @Test("a hash of bcrypt is exported as its text")
    func exportingBCrypt() throws {
        let text = "$2b$04$abcdefghijklmnopqrstuulb1Zm9aRMo8zIpU5l2zE2b/dAnXv2O6"
        let encoded = Base64.standard.encode(bytes(text))
        let bcrypt = object(#"{"hashAlgorithm":"BCRYPT"}"#)
        let kept = try #require(PasswordImport(bcrypt).kept(hash: encoded, salt: []))
        let exported = try #require(PasswordExport(kept))
        #expect(exported.hash == encoded)
        #expect(exported.salt.isEmpty)
        #expect(exported.hashConfig == bcrypt)
    }

    @Test(
        "parameters that are missing or out of range are named",
        arguments: [
            ("{}", .missingAlgorithm), (#"{"hashAlgorithm":"ARGON2"}"#, .unsupportedAlgorithm),
            (#"{"hashAlgorithm":"HMAC_SHA3"}"#, .unsupportedAlgorithm),
            (#"{"hashAlgorithm":"HMAC_SHA1"}"#, .invalidParameter("signerKey")),
            (#"{"hashAlgorithm":"HMAC_SHA1","signerKey":""}"#, .invalidParameter("signerKey")),
            (#"{"hashAlgorithm":"MD5"}"#, .invalidParameter("rounds")),
            (
                #"{"hashAlgorithm":"SHA1","rounds":1,"passwordHashOrder":"PASSWORD_FIRST"}"#,
                .invalidParameter("passwordHashOrder")
            ),
            (#"{"hashAlgorithm":"PBKDF2_SHA256","rounds":0}"#, .invalidParameter("rounds")),
            (
                #"{"hashAlgorithm":"SCRYPT","signerKey":"AA==","rounds":8,"memoryCost":15}"#,
                .invalidParameter("memoryCost")
            ),
            (#"{"hashAlgorithm":"STANDARD_SCRYPT","cpuMemCost":1000}"#, .invalidParameter("cpuMemCost")),
            (#"{"hashAlgorithm":"STANDARD_SCRYPT","cpuMemCost":1024}"#, .invalidParameter("blockSize")),
            (
                #"{"hashAlgorithm":"STANDARD_SCRYPT","cpuMemCost":65536,"blockSize":1,"parallelization":1}"#,
                .invalidParameter("cpuMemCost")
            ),
        ] as [(String, PasswordImport.Failure)])
    func refused(request: String, expected: PasswordImport.Failure) {
        #expect(throws: expected) { try PasswordImport(object(request)) }
    }

    @Test(
        "a hash that would take long to make, because it is long, is refused",
        arguments: [
            #"{"hashAlgorithm":"PBKDF2_SHA256","rounds":120000}"#, #"{"hashAlgorithm":"PBKDF_SHA1","rounds":1}"#,
            #"{"hashAlgorithm":"STANDARD_SCRYPT","cpuMemCost":1024,"blockSize":16,"parallelization":2,"dkLen":3}"#,
        ])
    func longHashes(config: String) throws {
        func kept(_ count: Int) throws -> String? {
            let hash = [UInt8](repeating: 7, count: count)
            return try PasswordImport(object(config)).kept(hash: Base64.standard.encode(hash), salt: bytes("c2FsdA=="))
        }
        #expect(try kept(128) != nil)
        #expect(try kept(129) == nil)
    }

    @Test("what is no Base64 is kept of nobody")
    func noHash() throws {
        let parameters = try PasswordImport(object(#"{"hashAlgorithm":"SHA1","rounds":1}"#))
        #expect(parameters.kept(hash: bytes("!"), salt: []) == nil)
        #expect(parameters.kept(hash: [], salt: []) == nil)
        #expect(parameters.kept(hash: bytes("AA=="), salt: bytes("?")) == nil)
    }
}
