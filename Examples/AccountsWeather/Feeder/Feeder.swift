import Glibc
import HearthAdmin
import HearthClient
import HearthHTTP

/// Reads forecasts and writes them to the database, as an administrator.
final class Feeder: Sendable {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    private let database: Database
    private let http: HTTPClient

    /// - parameter server: `http://host:port` or `https`; with a key, which names its server, it does not count.
    /// - parameter keyFile: the key of a service account; nil for a server in development mode.
    init(server: String, keyFile: String?) throws {
        let admin = try keyFile.map { try Administrator(keyFile: $0) } ?? Administrator(developmentURL: server)
        database = try admin.database(options: DatabaseOptions(requestTimeout: .seconds(30)))
        http = try HTTPClient()
    }

    /// Reads a forecast and writes it.
    ///
    /// - parameter source: a file, or an address with `http` or `https`.
    func feed(from source: String) async throws -> Forecast {
        let forecast = try Forecast(try await text(of: source))
        try await database.reference(withPath: "weather").child(forecast.key).setValue(try forecast.value)
        return forecast
    }

    private func text(of source: String) async throws -> [UInt8] {
        guard source.hasPrefix("http://") || source.hasPrefix("https://") else { return try Self.contents(of: source) }
        let answer = try await http.get(source)
        guard answer.status == 200 else { throw Failure(description: "\(source) answers \(answer.status)") }
        return answer.body
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
}
