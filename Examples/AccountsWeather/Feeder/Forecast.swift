import HearthClient

/// The weather of a city, as a forecast in JSON says it: `city`, `symbol`, `description` and `temperature` in degrees
/// Celsius.
struct Forecast: Hashable {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    let city: String
    let symbol: String
    let description: String
    let temperature: Double

    init(_ text: [UInt8]) throws(Failure) {
        guard let value = try? DatabaseValue(json: text), let city = value["city"].string, !city.isEmpty,
            let symbol = value["symbol"].string, let description = value["description"].string,
            let temperature = value["temperature"].double
        else { throw Failure(description: "no forecast: that is JSON with city, symbol, description and temperature") }
        (self.city, self.symbol, self.description, self.temperature) = (city, symbol, description, temperature)
    }

    /// The city's name as a key: `New York` is at `new-york`, letters of all scripts stay.
    var key: String { String(city.lowercased().map { $0.isLetter || $0.isNumber ? $0 : "-" }) }

    /// What is written; the time is the server's.
    var value: DatabaseValue {
        [
            "city": .string(city), "symbol": .string(symbol), "description": .string(description),
            "temperature": .double(temperature), "at": ServerValue.timestamp(),
        ]
    }
}
