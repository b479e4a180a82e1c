import HearthHTTPCodec
import HearthServerCodecs

/// An answer to a request.
public struct Response: Sendable {
    /// The status code, from 200 to 599.
    public var status: Int
    /// Header fields other than `Date`, `Content-Length` and `Connection`, in order. Control characters in values are
    /// sent as spaces; a field whose name is not an HTTP token is left out.
    public var headers: [(name: String, value: String)]
    /// The body; not sent for `HEAD`, 204 and 304.
    public var body: [UInt8]

    /// An answer with a body of any type.
    public init(_ status: Int = 200, headers: [(name: String, value: String)] = [], body: [UInt8] = []) {
        (self.status, self.headers, self.body) = (status, headers, body)
    }

    /// An answer with a text.
    public init(_ status: Int = 200, text: String) {
        self.init(status, headers: [("Content-Type", "text/plain; charset=utf-8")], body: Array(text.utf8))
    }

    /// An answer with the JSON from an encoder.
    public init(_ status: Int = 200, json: [UInt8]) {
        self.init(status, headers: [("Content-Type", "application/json; charset=utf-8")], body: json)
    }

    func write(with writer: inout ResponseWriter, date: HTTPDate, into out: inout [UInt8]) {
        writer.begin(HTTPStatus((200...599).contains(status) ? status : 500), date: date, into: &out)
        for (name, value) in headers { writer.header(name, value, into: &out) }
        writer.end(body: body.span, into: &out)
    }
}

/// Why a request failed. Thrown by handlers, and made by the server for requests without a handler.
public struct HTTPError: Error, Equatable, Sendable {
    /// The status code, such as 404.
    public var status: Int
    /// A sentence for people.
    public var message: String
    /// The methods that the path allows, if the request's method is not allowed (405).
    public internal(set) var allowedMethods: [String] = []

    /// A status and a sentence.
    public init(_ status: Int, _ message: String) { (self.status, self.message) = (status, message) }
}
