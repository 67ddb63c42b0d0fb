package redact

// The cost of a character after the one before it is -2·log2 of its frequency in the
// identifiers and comments of Go's standard library: low in words, high in what chance made.

// pairCosts has a row for each letter and a column for the letter that follows, in any case.
// The letter a stands for 0, b for 1, and so on.
const pairCosts = "" +
	"okhhonkvkumgjhujsgigmnomnt" + // a
	"gkkmgmoshkqgppipqkjogqrqir" + // b
	"golmgomgkvhjmrfnrklhlqsrnv" + // c
	"immhdmppgqsjpnioqjipjopoms" + // d
	"ioihllnsquskkgplnfgiqmmjmv" + // e
	"hmlkigosesshnnhntilkisrrmt" + // f
	"knipeolkirrlnifnsihllpqrrq" + // g
	"eqpoeqprisppiqhprknhkrqror" + // h
	"lnijkkjtstsijeiktkigulvnvk" + // i
	"imllflmmllkmllilmmeminmmnn" + // j
	"iomlcojphppnnknnpoimjpopoq" + // k
	"hppjeoorfvphrpfotqkkkprujt" + // l
	"elomerqrhtqmkqhgtrkmjtsros" + // m
	"iqhhglgqjtlmoliorqifllruot" + // n
	"lmiipkmtluljifjjvgjiilkptu" + // o
	"fqmofpqljumipqgjrgkhjorsnu" + // p
	"lomllmnllnnmnnnmljkncnmnmn" + // q
	"gqllenlsgvknlmgqvihillqvlv" + // r
	"krjqfqpihvnlnpkjpojejrotkt" + // s
	"hrmpeprigvtnnrilvhikltooju" + // t
	"lkkmhkltitthifnithhhsrtpup" + // u
	"epmncmopirrooplopooppoooqq" + // v
	"fnnmhpnjfqqnoigorfjnppmppq" + // w
	"hkijhhoojqqplpnfqoofpopklq" + // x
	"nmknlpopkpoljimdpmffopnpon" + // y
	"jnnnconninonnmkonmmooomnmi" // z

// kindCosts are the costs of going from a digit, a capital or a small letter to one of them.
var kindCosts = [3][3]int{{1, 6, 4}, {8, 3, 2}, {9, 6, 0}}

const (
	digitCost  = 7  // any of ten digits
	humpCost   = 9  // the first letter of a word
	chanceCost = 12 // any of 62 characters
)

// byChance reports whether a text of capitals and small letters is likelier to come from chance
// than from words and their abbreviations. What stands between letters and digits is not counted.
func byChance(v string) bool {
	const shortest = 14
	upper, lower, digits := mixture(v)
	if upper < 2 || lower < 2 || upper+lower+digits < shortest {
		return false
	}
	excess := 0
	for i := 1; i < len(v); i++ {
		if alphanumeric(v[i-1]) && alphanumeric(v[i]) {
			excess += cost(v[i-1], v[i]) - chanceCost
		}
	}
	return excess > 0
}

// cost returns the cost of a letter or digit b after a.
func cost(a, b byte) int {
	from, to := a>>5-1, b>>5-1 // the columns of ASCII: digits, capitals, small letters
	sum := kindCosts[from][to]
	switch {
	case to == 0:
		return sum + digitCost
	case from == 0 || to < from:
		return sum + humpCost
	}
	return sum + int(pairCosts[int(a|0x20-'a')*26+int(b|0x20-'a')]-'a')
}
