package nickname_test

import (
	"errors"
	"strings"
	"testing"

	"laststand/internal/nickname"
)

// harmlessNames are names that contain a refused word by chance, by their kind. Commas separate
// them.
var harmlessNames = map[string]string{
	"given names and surnames": `Dick, Dick Grayson, Moby Dick, Randy, Willy, Fanny, Rod, Peter, Gaylord, Johnson, Wang, Dong, Phuc, Nguyen Phuc,
		Dikshit, Lipschitz, Kuntz, Fuchs, Koch, Cockburn, Hancock, Hitchcock, Babcock, Wilcock, Woodcock, Alcock, Dickens, Dickinson, Dickson,
		Cummings, Titus, Cassandra, Cassie, Bassett, Assunta, Hasso, Pissarro, Prickett, Slutsky, Stupak, Whorley, Twatson, Michelle,
		Shital, Shitara, Mishima, Fukuda, Kashi, Kunti, Arsenio, Modesto, Adminton, Staffan, Offi, Natasha`,
	"places": `Scunthorpe, Penistone, Lightwater, Clitheroe, Essex, Middlesex, Sussex, Cockermouth, Cockfosters, Assisi, Assam, Asse, Twatt, Slutsk,
		Staffordshire, Stafford, Staffa, Modena, Moradabad, Arsenal, Fukuoka, Shitterton, Dickshooter, Crapstone, Mississippi, Passau, Casablanca`,
	"words": `Badminton, Assassin, Assassins, Classic, Glass, Grass, Compass, Bass, Bassist, Embassy, Passion, Massage, Password, Analyst, Analog,
		Cocktail, Peacock, Shuttlecock, Weathercock, Cockatoo, Scrapbook, Skyscraper, Damnation, Prickly Pear, Pussycat, Pussy Cat, Pussy Willow,
		Octopussy, Cock Robin, Jerk Chicken, Jerky, Swanky, Wankel, Closer, Loserman, Shiitake, Mishit, Therapist, Grape, Parsley, Sparse, Coarse,
		Systematic, Ecosystem, Solar System, Sound System, Staff Sergeant, Magic Staff, Supporter, Air Support, Mod Squad, Model, Modern, Modbus,
		Admiral, Administer, Officer, Unofficially, Game Mastery, Helpdog, Stupidity`,
	"numbers": `A55, A55 AMG, P155, 55A, B52, M25, R2D2, C3PO, 4Runner, Se7en, 3M, 1455, 455, Agent 007, Class of 99, H2O, K9, T1000, S8, U2, 5555, A 5 5`,
	"chinese": `出版主编, 出版主任, 再版主题, 新版主角, 盗版主义, 五官方正, 五官方圆, 感官方式, 器官方面, 法官方圆, 军官方阵, 教官方正, 警官方便, 武官方言,
		失去死党, 失去死角, 过去死海, 想去死海, 回到过去死活, 流氓兔, 流氓兔子, 顾客服务, 乘客服务, 旅客服装, 刺客服毒, 黑客服软, 访客服从, 侠客服气,
		海运营收, 货运营业, 幸运营地, 命运营造, 奥运营养, 夏令營運動, 管理组织, 管理组合, 体操你好, 情操你我, 李白痴迷, 雪白痴心, 摇滚蛋糕, 翻滚蛋黄,
		国王八音盒, 女王八卦, 霸王八戒, 天王八卦, 电脑残骸, 贫贱人家, 狗屎运, 垃圾分类, 垃圾桶, 废物利用, 傻瓜相机, 妈妈的宝贝, 你妈妈, 奶奶和媽媽的,
		官渡, 官小方, 版画, 客家, 运动营, 小白, 白马, 王小八, 大笨钟, 笨笨, 傻傻的, 混沌, 蛋蛋, 死神, 去远方, 流浪, 管理, 客来, 草莓马`,
}

func TestHarmlessNamesAreAllowed(t *testing.T) {
	t.Parallel()
	words, passed := wordsFrom(t, ""), 0
	for kind, names := range harmlessNames {
		for name := range strings.SplitSeq(names, ",") {
			name = strings.Join(strings.Fields(name), " ")
			parsed, err := nickname.Parse(name)
			if err != nil {
				t.Errorf("%s: %q is not a valid name: %v", kind, name, err)
				continue
			}
			if err := words.Refuse(parsed); err != nil {
				t.Errorf("%s: %q is refused: %v", kind, name, err)
			}
			passed++
		}
	}
	if passed < 230 {
		t.Errorf("only %d names were checked", passed)
	}
}

// Each of these names resembles a harmless one, but must be refused.
func TestNamesThatResembleHarmlessOnesAreRefused(t *testing.T) {
	t.Parallel()
	words := wordsFrom(t, "H88\nb00b\n1488\n王8\n")
	for _, name := range strings.Split(`dickhead, D1ckhead, Dicks, a55hole, A55 hole, @sshole, 4ss, as5, a5s, $h1t, 5h17, 5hit, sh1t007, Ａss, a.s.s, A S S, 4dmin007, mod team,
		M0dTeam, Mod-Team Bob, System, 5ystem, System Solar, Staff, Support, Support Bob, fuckoff, ScunthorpeFuck, H88, h88, B00B, 1488, Bob 1488, 14-88, 王8, 大王8蛋, Pussy, Jerk,
		官方, 官方正版, 非官方, 五官方官方, 版主, 新版主, 版主张三, 我是版主, 客服, 手游客服, 顾客服务客服, 运营, 運營, 官方运营, 去死, 去死吧, 你去死, 流氓, 大流氓,
		白痴, 小白痴, 白痴李白, 王八, 王八蛋, 大王八, 垃圾, 垃圾人, 废物, 滚蛋, 混蛋, 脑残, 脑残粉, 贱人, 狗屎, 傻瓜, 傻瓜蛋, 管理员, 管理组, 官.方, 官 方, 去.死`, ",") {
		name = strings.Join(strings.Fields(name), " ")
		parsed, err := nickname.Parse(name)
		if err != nil {
			t.Errorf("%q is not a valid name: %v", name, err)
			continue
		}
		if err := words.Refuse(parsed); !errors.Is(err, nickname.ErrWord) {
			t.Errorf("%q is not refused", name)
		}
	}
}

// Titles may contain words that suggest staff, but no insults.
func TestTitlesRefuseInsultsButNotStaffWords(t *testing.T) {
	t.Parallel()
	words := wordsFrom(t, "")
	for title, refused := range map[string]bool{
		"Support": false, "官方": false, "Admin & Staff": false, "Customer Service": false, "Fuck Support": true, "官方垃圾": true, "Dream Team": false, "A$$": true,
	} {
		if err := words.RefuseTitle(title); errors.Is(err, nickname.ErrWord) != refused || refused && err.Error() != "it contains a word that this game does not allow" {
			t.Errorf("RefuseTitle(%q) = %v", title, err)
		}
	}
	if err := (*nickname.Words)(nil).RefuseTitle("Fuck"); err != nil {
		t.Error(err)
	}
}
