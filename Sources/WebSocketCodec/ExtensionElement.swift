/// One element of `Sec-WebSocket-Extensions` (RFC 6455 section 9.1):
///
///     list      = element *( "," element )
///     element   = token *( ";" parameter )
///     parameter = token [ "=" ( token | quoted token ) ]
package struct ExtensionElement: Equatable {
    package struct Parameter: Equatable {
        package var name: String
        package var value: String?
    }

    package var name: String
    package var parameters: [Parameter] = []

    /// The elements of a field value; empty ones between commas are passed over. Nil if it breaks the grammar.
    package static func list(_ field: [UInt8]) -> [ExtensionElement]? {
        var scanner = FieldScanner(field)
        var elements: [ExtensionElement] = []
        while !scanner.isAtEnd {
            if scanner.skip(UInt8(ascii: ",")) { continue }
            guard let name = scanner.token() else { return nil }
            var element = ExtensionElement(name: name)
            while scanner.skip(UInt8(ascii: ";")) {
                guard let name = scanner.token() else { return nil }
                var value: String?
                if scanner.skip(UInt8(ascii: "=")) {
                    guard let read = scanner.quotedToken() ?? scanner.token() else { return nil }
                    value = read
                }
                element.parameters.append(Parameter(name: name, value: value))
            }
            elements.append(element)
            guard scanner.isAtEnd || scanner.skip(UInt8(ascii: ",")) else { return nil }
        }
        return elements
    }
}
