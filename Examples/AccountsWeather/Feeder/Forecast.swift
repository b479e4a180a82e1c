import HearthClient

/// The weather of a city, as a forecast in JSON says it: `city`, `symbol`, `description` and `temperature` in degrees
/// Celsius.
struct Forecast: Codable, Hashable {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    let city: String
    let symbol: String
    let description: String
    let temperature: Double

    init(_ text: [UInt8]) throws(Failure) {
        guard let value = try? DatabaseValue(json: text), let forecast = try? value.decoded(as: Forecast.self),
            !forecast.city.isEmpty
        else { throw Failure(description: "no forecast: that is JSON with city, symbol, description and temperature") }
        self = forecast
    }

    /// The city's name as a key: `New York` is at `new-york`, letters of all scripts stay.
    var key: String { String(city.lowercased().map { $0.isLetter || $0.isNumber ? $0 : "-" }) }

    /// The written value; the time is the server's.
    var value: DatabaseValue {
        get throws(DatabaseError) {
            var members = try DatabaseValue(encoding: self).object ?? [:]
            members["at"] = ServerValue.timestamp()
            return .object(members)
        }
    }
}
