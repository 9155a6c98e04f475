// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// A table of letters without their accents.
///
/// It has Unicode's canonical decompositions (version 14) of a letter into another letter and marks
/// that ``isMark(_:)`` knows. The standard library does not offer them, and Foundation is not used
/// here.
enum Accents {
    /// Returns true if a character is a mark that is left out.
    ///
    /// Marks are accents, and the vowel points of Hebrew and Arabic. The vowel signs of other
    /// scripts are not: a word without them is another word.
    static func isMark(_ scalar: UInt32) -> Bool {
        switch scalar {
        case 0x300...0x36F, 0x1AB0...0x1AFF, 0x1DC0...0x1DFF, 0x20D0...0x20FF, 0xFE20...0xFE2F,
            0x591...0x5BD, 0x5BF, 0x5C1, 0x5C2, 0x5C4, 0x5C5, 0x5C7, 0x610...0x61A, 0x64B...0x65F,
            0x670:
            true
        default: false
        }
    }

    /// Returns the letter without its accents; the character itself if it has none.
    static func base(of scalar: UInt32) -> UInt32 {
        // All composed letters of the table are in this range, and its rows have 16 bits.
        guard scalar >= 0xC0, scalar < 0x1_0000 else { return scalar }
        var low = 0
        var high = table.count
        while low < high {
            let middle = (low + high) / 2
            let row = table[middle]
            if row.composed == scalar { return UInt32(row.base) }
            if row.composed < scalar { low = middle + 1 } else { high = middle }
        }
        return scalar
    }

    private static let table: [(composed: UInt16, base: UInt16)] =
        // The groups are in the order of their base letters. The search needs that of the composed.
        groups.split(whereSeparator: { $0 == 32 || $0 == 10 }).flatMap { group in
            let base = UInt16(truncatingIfNeeded: group.first ?? 0)
            return group.dropFirst().map { (UInt16(truncatingIfNeeded: $0), base) }
        }.sorted { $0.0 < $1.0 }

    /// Groups of a letter and the letters that are composed from it.
    private static let groups = letters.unicodeScalars.map(\.value)

    private static let letters = """
        AÀÁÂÃÄÅĀĂĄǍǞǠǺȀȂȦḀẠẢẤẦẨẪẬẮẰẲẴẶÅ BḂḄḆ CÇĆĈĊČḈ DĎḊḌḎḐḒ EÈÉÊËĒĔĖĘĚȄȆȨḔḖḘḚḜẸẺẼẾỀỂỄỆ
        FḞ GĜĞĠĢǦǴḠ HĤȞḢḤḦḨḪ IÌÍÎÏĨĪĬĮİǏȈȊḬḮỈỊ JĴ KĶǨḰḲḴK LĹĻĽḶḸḺḼ MḾṀṂ NÑŃŅŇǸṄṆṈṊ
        OÒÓÔÕÖŌŎŐƠǑǪǬȌȎȪȬȮȰṌṎṐṒỌỎỐỒỔỖỘỚỜỞỠỢ PṔṖ RŔŖŘȐȒṘṚṜṞ SŚŜŞŠȘṠṢṤṦṨ TŢŤȚṪṬṮṰ
        UÙÚÛÜŨŪŬŮŰŲƯǓǕǗǙǛȔȖṲṴṶṸṺỤỦỨỪỬỮỰ VṼṾ WŴẀẂẄẆẈ XẊẌ YÝŶŸȲẎỲỴỶỸ ZŹŻŽẐẒẔ
        aàáâãäåāăąǎǟǡǻȁȃȧḁạảấầẩẫậắằẳẵặ bḃḅḇ cçćĉċčḉ dďḋḍḏḑḓ eèéêëēĕėęěȅȇȩḕḗḙḛḝẹẻẽếềểễệ
        fḟ gĝğġģǧǵḡ hĥȟḣḥḧḩḫẖ iìíîïĩīĭįǐȉȋḭḯỉị jĵǰ kķǩḱḳḵ lĺļľḷḹḻḽ mḿṁṃ nñńņňǹṅṇṉṋ
        oòóôõöōŏőơǒǫǭȍȏȫȭȯȱṍṏṑṓọỏốồổỗộớờởỡợ pṕṗ rŕŗřȑȓṙṛṝṟ sśŝşšșṡṣṥṧṩ tţťțṫṭṯṱẗ
        uùúûüũūŭůűųưǔǖǘǚǜȕȗṳṵṷṹṻụủứừửữự vṽṿ wŵẁẃẅẇẉẘ xẋẍ yýÿŷȳẏẙỳỵỷỹ zźżžẑẓẕ ÆǢǼ ØǾ æǣǽ
        øǿ ſẛ ƷǮ ʒǯ ʹʹ ΑΆἈἉἊἋἌἍἎἏᾈᾉᾊᾋᾌᾍᾎᾏᾸᾹᾺΆᾼ ΕΈἘἙἚἛἜἝῈΈ ΗΉἨἩἪἫἬἭἮἯᾘᾙᾚᾛᾜᾝᾞᾟῊΉῌ
        ΙΊΪἸἹἺἻἼἽἾἿῘῙῚΊ ΟΌὈὉὊὋὌὍῸΌ ΡῬ ΥΎΫὙὛὝὟῨῩῪΎ ΩΏὨὩὪὫὬὭὮὯᾨᾩᾪᾫᾬᾭᾮᾯῺΏῼΩ
        αάἀἁἂἃἄἅἆἇὰάᾀᾁᾂᾃᾄᾅᾆᾇᾰᾱᾲᾳᾴᾶᾷ εέἐἑἒἓἔἕὲέ ηήἠἡἢἣἤἥἦἧὴήᾐᾑᾒᾓᾔᾕᾖᾗῂῃῄῆῇ
        ιΐίϊἰἱἲἳἴἵἶἷὶίιῐῑῒΐῖῗ οόὀὁὂὃὄὅὸό ρῤῥ υΰϋύὐὑὒὓὔὕὖὗὺύῠῡῢΰῦῧ
        ωώὠὡὢὣὤὥὦὧὼώᾠᾡᾢᾣᾤᾥᾦᾧῲῳῴῶῷ ϒϓϔ ІЇ АӐӒ ГЃ ЕЀЁӖ ЖӁӜ ЗӞ ИЍЙӢӤ КЌ ОӦ УЎӮӰӲ ЧӴ ЫӸ ЭӬ
        аӑӓ гѓ еѐёӗ жӂӝ зӟ ийѝӣӥ кќ оӧ уўӯӱӳ чӵ ыӹ эӭ ії ѴѶ ѵѷ ӘӚ әӛ ӨӪ өӫ אאַאָאּ בבּבֿ גגּ
        דדּ ההּ ווּוֹ זזּ טטּ ייִיּ ךךּ ככּכֿ ללּ ממּ ננּ ססּ ףףּ פפּפֿ צצּ קקּ ררּ ששׁשׂשּׁשּׂשּ תתּ ײײַ اآأإ وؤ يئ
        ہۂ ےۓ ەۀ
        """
}
