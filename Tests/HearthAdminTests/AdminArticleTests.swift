import HearthTestSupport
import Testing

@Suite("The articles about administration")
struct AdminArticleTests {
    private static let project = #filePath.split(separator: "/").dropLast(3).map { "/" + $0 }.joined()

    private static func text(_ path: String) -> String {
        String(decoding: TemporaryFolder.contents(of: "\(project)/\(path)"), as: UTF8.self)
    }

    @Test("show code that compiles", arguments: ["HearthAdmin", "Administrators"])
    func examples(article name: String) {
        func joined(_ text: some StringProtocol) -> String {
            text.split(separator: "\n").map { $0.drop { $0 == " " } }.joined()
        }
        let source = joined(Self.text("Tests/HearthAdminTests/ArticleExamples.swift"))
        let article = Self.text("Sources/HearthAdmin/Documentation.docc/\(name).md")
        let blocks = article.matches(of: #/```swift\n((?s:.*?))```/#)
        #expect(!blocks.isEmpty)
        for block in blocks { #expect(source.contains(joined(block.1)), "\(block.1)") }
    }
}
