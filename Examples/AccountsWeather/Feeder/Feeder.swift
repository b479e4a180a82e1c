import HearthEventLoop
import Glibc
import HearthHTTPCodec
import HearthClient

/// Reads forecasts and writes them to the database.
final class Feeder: Sendable {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    private let loop: EventLoop
    private let server: String
    private let key: ServiceAccountKey?

    /// - parameter server: `http://host:port` or `https`.
    /// - parameter keyFile: the key of a service account; nil for a server in development mode.
    init(server: String, keyFile: String?) throws {
        self.server = server.hasSuffix("/") ? String(server.dropLast()) : server
        key = try keyFile.map { try ServiceAccountKey(Self.contents(of: $0)) }
        loop = try EventLoop(name: "feeder")
        try loop.start()
    }

    deinit { loop.shutDown(grace: .zero) }

    /// Reads a forecast and writes it.
    ///
    /// - parameter source: a file, or an address with `http` or `https`.
    func feed(from source: String) async throws -> Forecast {
        let isAddress = source.hasPrefix("http://") || source.hasPrefix("https://")
        let text =
            isAddress
            ? try await HTTPCall(HTTPAddress(source)).answer(on: loop) : try Self.contents(of: source)
        let forecast = try Forecast(text)
        var call = HTTPCall(try HTTPAddress("\(server)/weather/\(Self.encoded(forecast.key)).json"))
        call.method = .put
        call.contentType = "application/json"
        call.body = Array(try forecast.value.description.utf8)
        if let key {
            try await call.authenticate(.key(key), on: loop)
        } else {
            call.bearer = Array("owner".utf8)
        }
        _ = try await call.answer(on: loop)
        return forecast
    }

    private static func contents(of path: String) throws(Failure) -> [UInt8] {
        guard let file = fopen(path, "rbe") else { throw Failure(description: "\(path) cannot be read") }
        defer { fclose(file) }
        let bytes = [UInt8](unsafeUninitializedCapacity: byteCountMax + 1) {
            $1 = fread($0.baseAddress, 1, $0.count, file)
        }
        guard bytes.count <= byteCountMax else { throw Failure(description: "\(path) is larger than 1 MiB") }
        return bytes
    }

    private static let byteCountMax = 1 << 20

    /// A forecast's key as a segment of a URL: letters, digits and hyphens.
    private static func encoded(_ key: String) -> String {
        key.utf8.map { $0 < 0x80 ? String(Unicode.Scalar($0)) : "%" + String($0, radix: 16) }.joined()
    }
}
