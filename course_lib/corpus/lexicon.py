"""The words of the course's Korean–English grammar as tables, and which words go together (`dictionary` reads them).

A verb lists the objects it takes. That is what makes a homonym readable from its context (배를 먹다 is a pear,
배를 타다 a ship), and one English verb several Korean ones (wear: 입다 a coat, 쓰다 a hat, 신다 shoes, 끼다 gloves).
"""

NAMES = str.split("""
가영 가현 건우 경민 경수 경준 경희 규민 규빈 기현 나연 나영 나현 다영 다은 다현 도연 도현 동우 동현 미경 미나
미선 미주 민경 민규 민수 민우 민재 민지 민하 보경 보미 서아 서연 서윤 서은 서하 서현 선아 선영 선주 선호 성민
성빈 성준 성진 성호 세영 세은 세현 세희 소영 소은 소현 소희 수민 수빈 수연 수지 승민 승아 승우 승주 승호
승희 시우 시윤 아린 아영 연수 연아 연지 연희 영서 영선 영은 영주 영지 영진 영희 예나 예서 예원 예지 예진 유라
유미 유빈 유정 유현 윤서 윤정 윤지 윤호 윤희 은비 은서 은아 은영 은주 은지 은호 은희 재영 재우 재윤 재준 재희
정민 정우 정은 정호 정희 주영 주원 주하 주호 준서 준영 준하 준호 지민 지빈 지수 지아 지영 지우 지은 지현 진서
진아 진우 진호 채린 채민 채영 채원 채현 태경 태영 태우 태현 태호 하린 하민 하서 하연 하은 하준 현경 현민 현서
현수 현우 현정 현준 현진 혜리 혜린 혜선 혜수 혜영 혜원 혜주 혜지 호준
""")

# Built from syllables of NAMES, each in its place: new as words, known as pieces.
HELD_OUT_NAMES = str.split("""
민준 서준 도윤 지윤 예은 유진 서영 수진 하영 은우 재현 승현 시현 미연 주현 동민 태준 채은 현지 소윤
""")

# class: its adjectives; a noun takes those of its classes
ADJECTIVES = {
    "human": "젊은 young · 늙은 old · 유명한 famous · 친절한 kind · 조용한 quiet",
    "animal": "큰 big · 작은 small · 늙은 old · 하얀 white · 검은 black",
    "size": "큰 big · 작은 small",
    "color": "검은 black · 하얀 white · 빨간 red · 파란 blue · 노란 yellow",
    "age": "오래된 old · 새 new",
    "price": "비싼 expensive · 싼 cheap",
    "length": "긴 long · 짧은 short",
    "weight": "무거운 heavy · 가벼운 light",
    "warm": "따뜻한 warm",
    "cold": "차가운 cold",
    "look": "예쁜 pretty",
    "taste": "맛있는 delicious",
}
ADJECTIVES = {name: [tuple(pair.split()) for pair in row.split(" · ")] for name, row in ADJECTIVES.items()}

# kind: Korean, English (/irregular plural), counter (- where it is not counted), classes of adjectives
NOUNS = {
    "person": """학생 student 명 human; 의사 doctor 명 human; 가수 singer 명 human; 화가 painter 명 human;
        농부 farmer 명 human; 요리사 cook 명 human; 배우 actor 명 human; 소녀 girl 명 -; 소년 boy 명 -;
        간호사 nurse 명 human; 기술자 engineer 명 human; 예술가 artist 명 human; 아이 child/children 명 -;
        여자 woman/women 명 human; 남자 man/men 명 human""",
    "animal": """고양이 cat 마리 animal; 개 dog 마리 animal; 말 horse 마리 animal; 토끼 rabbit 마리 animal;
        소 cow 마리 animal; 쥐 mouse/mice 마리 animal; 당나귀 donkey 마리 animal; 코끼리 elephant 마리 animal""",
    "bird": "새 bird 마리 animal; 오리 duck 마리 animal; 거위 goose/geese 마리 animal",
    "insect": "나비 butterfly 마리 color; 파리 fly 마리 -",
    "goods": """책 book 권 age,price; 소설 novel 권 length,age; 잡지 magazine 권 age,price;
        연필 pencil 자루 length,color; 펜 pen 자루 color,price; 붓 brush 자루 age,length; 컵 cup 개 color,size;
        망치 hammer 개 weight,age; 열쇠 key 개 age,size; 지도 map 장 age; 우산 umbrella 개 color,price;
        시계 clock 개 age,price; 컴퓨터 computer 대 age,price; 카메라 camera 대 age,price; 모자 hat 개 color,price;
        왕관 crown 개 age,weight; 코트 coat 벌 color,weight; 셔츠 shirt 벌 color,price; 치마 skirt 벌 length,color;
        스웨터 sweater 벌 color,warm; 드레스 dress 벌 color,look; 반지 ring 개 look,price;
        피아노 piano/pianos 대 age,price; 기타 guitar 대 age,price; 바이올린 violin 대 age,price;
        첼로 cello/cellos 대 age,price; 플루트 flute 개 age,price; 트럼펫 trumpet 개 age; 공 ball 개 color,size;
        못 nail 개 length; 탁자 table 개 size,age; 의자 chair 개 size,age; 상자 box 개 weight,size;
        가방 bag 개 weight,color; 자전거 bicycle 대 color,age; 트럭 truck 대 size,age; 꽃 flower 송이 color,look;
        사과 apple 개 size,color; 바나나 banana 개 length; 오렌지 orange 개 size; 달걀 egg 개 size,color;
        감자 potato 개 size; 토마토 tomato 개 size; 복숭아 peach 개 taste; 딸기 strawberry 개 size,taste;
        케이크 cake 개 size,taste; 돌 stone 개 size,weight; 밤 chestnut 개 size,taste""",
    "thing": """신문 newspaper 부 age; 편지 letter 통 length; 시 poem 편 length; 노래 song 곡 age,length;
        사진 photo/photos 장 age,size; 버스 bus 대 color,size; 기차 train 대 length,age; 택시 taxi 대 color;
        비행기 airplane 대 size,color; 차 car 대 color,age; 배 ship 척 size,age; 배 pear 개 taste; 다리 bridge - age;
        문 door 개 age,color; 창문 window 개 size; 나무 tree 그루 size; 집 house 채 size,age; 산 mountain - size;
        강 river - length; 길 road - length; 별 star 개 size""",
    "body": "다리 leg - -; 팔 arm - -; 손 hand - -; 발 foot - -",
    "mass": """빵 bread - warm,taste; 물 water 잔 warm,cold; 우유 milk 잔 warm,cold; 차 tea 잔 warm,cold;
        커피 coffee 잔 warm,cold; 주스 juice 잔 taste""",
    "pair": """신발 shoes 켤레 color,age; 양말 socks 켤레 color,price; 장화 boots 켤레 color,age;
        장갑 gloves 켤레 color,warm; 안경 glasses - age""",
}

# stem: English (/irregular past): objects, as English nouns or @kinds; then, after "with", its instruments and,
# after "in", the places where it may happen (else anywhere)
TRANSITIVE = """
읽 read/read: book novel magazine newspaper letter poem
쓰 write/wrote: letter novel poem with pencil pen
쓰 use: pencil pen cup computer camera hammer brush map
쓰 wear/wore: hat crown glasses
입 wear/wore: coat shirt skirt sweater dress
신 wear/wore: shoes socks boots
끼 wear/wore: ring gloves
치 play: piano guitar
켜 play: violin cello
불 play: flute trumpet
치 hit/hit: ball nail table with hammer
타 take/took: bus train ship taxi airplane in station airport village island
타 ride/rode: horse bicycle donkey elephant in outside
운전하 drive/drove: bus taxi truck car in village airport island farm
먹 eat/ate: apple pear banana orange egg potato tomato peach chestnut strawberry cake bread
마시 drink/drank: water milk tea coffee juice
깎 peel: apple pear potato peach
따 pick: apple pear strawberry peach tomato in farm field garden village yard
씻 wash: cup apple strawberry potato tomato leg hand foot
빨 wash: coat shirt skirt sweater dress socks gloves
닦 wipe: window table cup glasses shoes boots bicycle car
들 raise: arm leg hand foot
키우 raise: cat dog horse rabbit cow duck mouse goose donkey in farm village yard school
건너 cross: bridge river road in village
열 open: door window box bag with key
닫 close: door window box bag
고치 fix: door window bicycle clock computer camera bridge ship car piano chair with hammer
그리 draw/drew: mountain flower tree river house star map @animal with pencil brush
찍 take/took: photo with camera
부르 sing/sang: song
부르 call: @person
만나 meet/met: @person
돕 help: @person
기다리 wait for/waited for: @person bus train taxi
가르치 teach/taught: student child girl boy
사랑하 love: doctor singer painter farmer cook actor nurse engineer artist
좋아하 like: doctor singer painter farmer cook actor nurse engineer artist @animal flower song strawberry peach novel
만들 make/made: chair box cake bread hat bag table coat dress gloves
던지 throw/threw: ball stone in outside
심 plant: tree flower potato in farm field garden village yard park
사 buy/bought: @goods @pair milk coffee bread
팔 sell/sold: @goods @pair milk coffee bread house
찾 find/found: @goods @animal
보 see/saw: @person @animal @bird @insect mountain tree house train airplane river star
숨기 hide/hid: letter box ring map photo book bag key
나르 carry: box bag chair table book stone with truck
잃어버리 lose/lost: ring hat bag glasses umbrella camera key gloves
"""

# the same, with the kinds of subject; then, after "in" (에서), "at" (에) or "to" (에), its places
INTRANSITIVE = """
자 sleep/slept: person animal bird
웃 laugh: person
울 cry: person
놀 play: person animal in park garden yard field beach playground
달리 run/ran: person animal in park field beach playground farm
걷 walk: person animal bird in park garden field beach road
춤추 dance: person in park square theater playground
노래하 sing/sang: person
수영하 swim/swam: person in sea river pool
일하 work: person
쉬 rest: person animal
날 fly/flew: bird insect in garden field park yard
가 go/went: person to anywhere
오 come/came: person to anywhere
살 live: person animal at village island farm house forest
"""

# Korean, English, English preposition
PLACES = """마을 village in · 공원 park in · 시장 market at · 학교 school at · 도서관 library in · 병원 hospital in ·
부엌 kitchen in · 정원 garden in · 바닷가 beach on · 역 station at · 가게 store in · 박물관 museum in ·
식당 restaurant in · 교실 classroom in · 농장 farm on · 공항 airport at · 섬 island on · 극장 theater in ·
광장 square in · 들판 field in · 마당 yard in · 운동장 playground on · 바다 sea in · 강 river in · 수영장 pool in ·
집 house in · 숲 forest in · 길 road on"""
OUTSIDE = {"village", "park", "garden", "beach", "farm", "island", "square", "field", "yard", "playground"}
NOT_ANYWHERE = {"sea", "river", "pool", "house", "road"}

# What does not go together, by the Korean stem (치 and 쓰 are several verbs, but alike here): states have no place and
# no time, and some things are done alone, or to one thing at a time.
STATES = {"사랑하", "좋아하"}
TIMELESS = {"살", "키우"}
ALONE = {"쓰", "입", "신", "끼", "들", "보", "잃어버리", "운전하", "살"}
ONE_AT_A_TIME = {"입", "신", "끼", "치", "켜", "불", "타", "운전하", "건너"}

# Korean, English; the time decides the tense
TIMES = {
    "past": "어제 yesterday · 지난주에 last_week · 작년에 last_year · 지난달에 last_month",
    "present": "매일 every_day · 매주 every_week · 아침마다 every_morning · 주말마다 every_weekend",
    "any": "오늘 today · 밤에 at_night",
}
TIMES = {name: [tuple(pair.split()) for pair in row.split(" · ")] for name, row in TIMES.items()}

SPEECH = """
말하 say/said:
생각하 think/thought:
믿 believe:
설명하 explain:
"""
TRANSPORT = ("bus", "train", "bicycle", "taxi")
NUMERALS = {2: ("두", "two"), 3: ("세", "three"), 4: ("네", "four"), 5: ("다섯", "five")}

# Pairs that training never shows: neither the verb nor the noun is a homonym, and both occur with other partners.
HELD_OUT_PAIRS = """read magazine · read novel · eat peach · eat banana · drink coffee · peel potato · pick tomato ·
wash strawberry · wipe bicycle · open box · close window · fix clock · draw tree · make cake · throw stone ·
plant flower · carry chair · hide map · lose camera · cross river · buy umbrella · sell bicycle · find key ·
see elephant · meet nurse · help farmer · teach boy · love singer · like rabbit · draw horse"""
HELD_OUT_PAIRS = {tuple(pair.split()) for pair in HELD_OUT_PAIRS.split("·")}

# Two readings and nothing in the sentence to choose between them, unless the noun is counted (배 세 척, 배 세 개).
# Korean noun: its two meanings, and the verbs (stems) that go with both.
AMBIGUOUS = {
    "배": (("pear", "ship"), ("사", "팔", "그리", "보")),
    "다리": (("leg", "bridge"), ("그리", "보")),
    "차": (("tea", "car"), ("사", "팔")),
}

# One Korean form, several English words; and one English word, several Korean ones.
HOMONYMS = {"배", "다리", "차", "밤", "새", "쓰", "치", "타", "부르"}
ONE_TO_MANY = {"wear", "play", "raise", "take", "sing", "wash", "old"}
